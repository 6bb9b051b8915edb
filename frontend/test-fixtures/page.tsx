/** The whole page in a test, opened at an address. */
import { configure, render } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { App } from "../src/shell/app";
import { openEnvironment } from "../src/state/host/environment";
import { standaloneHost } from "../src/state/host/host";

// A view is fetched when it is first opened, which takes its time on a busy machine.
configure({ asyncUtilTimeout: 8000 });

/** Opens the page at a fragment like `#view=health&run=a`. */
export function openPage(fragment = "") {
  window.history.replaceState(null, "", fragment === "" ? "#" : fragment);
  const environment = openEnvironment(standaloneHost());
  const page = render(<App environment={environment} />);
  return { ...page, environment, user: userEvent.setup() };
}
