/** Puts the page into the document, whoever hosts it. */
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { stepsOfReport } from "./api/stored";
import { installStyles } from "./base/style/install_styles";
import { adoptStyles } from "./base/style/styles";
import { App } from "./shell/app";
import shellCss from "./shell/shell.css?inline";
import { listenToEditor } from "./state/host/embedder";
import { openEnvironment } from "./state/host/environment";
import type { Host } from "./state/host/host";
import { VIEWS } from "./views";

export function mount(host: Host): void {
  installStyles();
  adoptStyles(shellCss);
  const environment = openEnvironment(host);
  listenToEditor(window, environment);
  if (stepsOfReport !== "" && environment.address.get()["steps"] === undefined) {
    environment.address.replace({ steps: stepsOfReport });
  }
  // The view's code and the server's first answers travel at the same time.
  const stem = environment.address.get()["view"];
  const first = VIEWS.find((view) => view.stem === stem) ?? VIEWS[0];
  first?.load().catch(() => {
    // Asked for again, and reported, when the view is drawn.
  });
  const place = document.createElement("div");
  place.id = "kinetoscope";
  place.style.height = "100%";
  document.body.append(place);
  createRoot(place).render(
    <StrictMode>
      <App environment={environment} />
    </StrictMode>,
  );
}
