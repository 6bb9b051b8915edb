import { expect, test, vi } from "vitest";
import { editorLink, openPlace, vscodeMessage } from "./source";

test("VS Code counts lines from 0 and drops 0", () => {
  expect(vscodeMessage("/a/train.py", 41)).toEqual({ filename: "/a/train.py", line: 40 });
  expect(vscodeMessage("/a/train.py", 2).line).toBe(1);
  expect(vscodeMessage("/a/train.py", 1).line).toBe(1);
});

test("an editor's link holds the path as an address does", () => {
  expect(editorLink("vscode", "/home/me/a b#c.py", 3)).toBe(
    "vscode://file/home/me/a%20b%23c.py:3:1",
  );
  expect(editorLink("pycharm", "C:/x&line=9.py", 0)).toBe(
    "pycharm://open?file=C%3A/x%26line%3D9.py&line=1",
  );
  expect(editorLink("copy", "/a.py", 3)).toBeNull();
  expect(editorLink("vscode", "", 3)).toBeNull();
});

test("inside VS Code the webview is told, and nothing else happens", async () => {
  const told = vi.fn();
  const view = { parent: { parent: { postMessage: told } } } as unknown as Window;
  expect(await openPlace(view, true, "vscode", "/a.py", 5)).toBe("sent");
  expect(told).toHaveBeenCalledWith({ filename: "/a.py", line: 4 }, "*");
});

test("a chosen editor is asked by its link", async () => {
  const assign = vi.fn();
  const view = { location: { assign } } as unknown as Window;
  expect(await openPlace(view, false, "cursor", "/a.py", 5)).toBe("linked");
  expect(assign).toHaveBeenCalledWith("cursor://file/a.py:5:1");
});
