import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, test, vi } from "vitest";
import { catalogOf } from "../../../test-fixtures/catalog";
import { INFO } from "../../../test-fixtures/resnet";
import { type FakeServer, fakeServer, refusal } from "../../../test-fixtures/server";
import type { SourcePlace } from "../../api/types.gen";
import { type Page, PageContext } from "../../state/page_context";
import { SourceLink } from "./source_link";

let server: FakeServer;
const copied = vi.fn(() => Promise.resolve());

const PLACE: SourcePlace = {
  path: "/workspace/sub/train.py",
  found: false,
  line: 12,
  first: 0,
  lines: [],
  missing: "Source texts are not served here.",
  directory: "/workspace",
};
const PAGE: Page = {
  info: INFO,
  catalog: catalogOf([]),
  shown: { key: { run: "r", worker: "w", span: "1" }, digest: "d", file: "", trace: null },
  titles: new Map(),
  openHelp: () => undefined,
  openPalette: () => undefined,
};

beforeEach(() => {
  server = fakeServer(catalogOf([]));
  copied.mockClear();
});

const text = (element: Element | null) => element?.textContent?.replaceAll(/\s+/g, " ").trim();

/** Clicks the frame `sub/train.py(12): step`. */
async function click() {
  const user = userEvent.setup();
  vi.stubGlobal("navigator", { ...window.navigator, clipboard: { writeText: copied } });
  render(
    <QueryClientProvider
      client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}
    >
      <PageContext.Provider value={PAGE}>
        <SourceLink name="sub/train.py(12): step" file="sub/train.py" line={12} />
      </PageContext.Provider>
    </QueryClientProvider>,
  );
  await user.click(screen.getByRole("button"));
  return await screen.findByRole("status");
}

test("a known place is copied, as the server puts it together", async () => {
  server.answer("source", PLACE);
  expect(text(await click())).toBe("Copied.");
  expect(copied).toHaveBeenCalledWith("/workspace/sub/train.py:12");
});

test("an unknown place is no path: the frame, and how to tell where it is", async () => {
  server.answer("source", { ...PLACE, path: "", missing: "Not found here. `MAP=recorded=here`" });
  const told = await click();
  expect(text(told)).toBe(
    "sub/train.py:12 Not found here. MAP=recorded=here Recorded in /workspace.",
  );
  expect(copied).not.toHaveBeenCalled();
});

test("lines that the server shows stand below the frame, as text", async () => {
  const lines = ["<b>one</b>", "\ttwo"];
  server.answer("source", { ...PLACE, found: true, first: 11, lines, missing: "" });
  const told = await click();
  expect(text(told)).toBe("Copied.11 <b>one</b> 12 two");
  expect(text(told.querySelector(".strong"))).toBe("12 two");
});

test("a refusal is said, and nothing is thrown away", async () => {
  server.answer("source", refusal(400, "query", "The map maps nothing.", "Write it anew."));
  expect(text(await click())).toBe("sub/train.py:12 The map maps nothing. Write it anew.");
});
