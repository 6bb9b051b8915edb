import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { hasEditor, listenToEditor, openInEditor } from "./embedder";
import type { Environment } from "./environment";

const navigate = vi.fn();
const follow = vi.fn();
const parent = { postMessage: vi.fn() };
let hear: (event: unknown) => void = () => undefined;
let close: () => void = () => undefined;

beforeEach(() => {
  vi.clearAllMocks();
  const view = {
    parent,
    addEventListener: (_: string, listener: typeof hear) => {
      hear = listener;
    },
    removeEventListener: vi.fn(),
  } as unknown as Window;
  const environment = { address: { navigate }, theme: { follow } } as unknown as Environment;
  close = listenToEditor(view, environment);
});
afterEach(() => close());

const say = (data: object, source: unknown = parent) =>
  hear({ data: { kinetoscope: 1, ...data }, source, origin: "https://editor.example" });

it("tells the editor that said hello, and its origin alone, which line to open", () => {
  expect(openInEditor("/a.py", 3)).toBe(false);
  say({ type: "hello" });
  expect(hasEditor()).toBe(true);
  expect(parent.postMessage).toHaveBeenLastCalledWith(
    { kinetoscope: 1, type: "ready" },
    "https://editor.example",
  );
  expect(openInEditor("/a.py", 0)).toBe(true);
  expect(parent.postMessage).toHaveBeenLastCalledWith(
    { kinetoscope: 1, type: "open", path: "/a.py", line: 1 },
    "https://editor.example",
  );
});

it("hears nobody but the window around it", () => {
  say({ type: "hello" }, {});
  hear({ data: { type: "hello" }, source: parent, origin: "https://editor.example" });
  expect(hasEditor()).toBe(false);
});

it("takes theme and place", () => {
  say({ type: "theme", theme: "dark" });
  expect(follow).toHaveBeenCalledWith("dark");
  say({ type: "reveal", values: { view: "kernels", odd: 7 } });
  expect(navigate).toHaveBeenCalledWith({ view: "kernels" });
});
