import { afterEach, expect, it, vi } from "vitest";
import { openTheme } from "./environment";

const shown = () => document.documentElement.dataset["theme"];

afterEach(() => {
  window.localStorage.clear();
  document.body.className = "";
});

it("follows TensorBoard, also when it changes", async () => {
  document.body.classList.add("dark-mode");
  const theme = openTheme({ plugin: "p", window, hasParent: true });
  expect(theme.isHosted).toBe(true);
  expect(shown()).toBe("dark");
  const listener = vi.fn();
  theme.subscribe(listener);
  document.body.classList.remove("dark-mode");
  await vi.waitFor(() => expect(shown()).toBe("light"));
  expect(listener).toHaveBeenCalledTimes(1);
});

it("keeps an own choice alone", () => {
  const host = { plugin: null, window, hasParent: false };
  const before = openTheme(host).get();
  const theme = openTheme(host);
  theme.toggle();
  expect(theme.get()).not.toBe(before);
  expect(openTheme(host).get()).toBe(theme.get());
});

it("toggles where storage is forbidden", () => {
  const refuse = () => {
    throw new DOMException("sandboxed", "SecurityError");
  };
  vi.spyOn(window, "localStorage", "get").mockImplementation(refuse);
  const theme = openTheme({ plugin: null, window, hasParent: false });
  const before = theme.get();
  theme.toggle();
  expect(theme.get()).not.toBe(before);
  vi.restoreAllMocks();
});
