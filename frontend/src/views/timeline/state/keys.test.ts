import { describe, expect, it } from "vitest";
import { boundTo, COMMANDS, type Press } from "./keys";

const press = (key: string, over: Partial<Press> = {}): Press => ({
  key,
  code: "",
  shiftKey: false,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  ...over,
});

describe("keys", () => {
  it.each([
    ["w", { code: "KeyW" }, "zoom-in"],
    ["z", { code: "KeyW" }, "zoom-in"], // a French keyboard: the place counts
    ["ц", { code: "KeyW" }, "zoom-in"], // a Russian one
    ["A", { code: "KeyA", shiftKey: true }, "left"],
    ["&", { code: "Digit1" }, "mode-select"], // a French keyboard without Shift
    ["ArrowUp", {}, "up"],
    ["ArrowUp", { shiftKey: true }, "scroll-up"],
    ["N", { shiftKey: true }, "same-previous"],
    ["M", { shiftKey: true }, "mark-keep"],
    ["/", { shiftKey: true }, "search"], // a German keyboard
    [".", {}, "next"],
    ["f", { ctrlKey: true }, "search"],
    ["P", { metaKey: true, shiftKey: true }, "palette"],
    ["S", { ctrlKey: true, shiftKey: true }, "png"],
    ["Home", {}, "whole"],
    ["u", {}, "streams"],
  ])("%s with %o does %s", (key, over, action) => {
    expect(boundTo(press(key, over))?.action).toBe(action);
  });

  it.each([
    ["s", { ctrlKey: true, code: "KeyS" }],
    ["a", { metaKey: true, code: "KeyA" }],
    ["w", { altKey: true, code: "KeyW" }],
    ["r", { ctrlKey: true }],
    ["l", {}], // the page's own: copy the link
    ["g", {}],
    ["?", { shiftKey: true }],
    ["k", { ctrlKey: true }],
  ])("%s with %o is not ours", (key, over) => {
    expect(boundTo(press(key, over))).toBeNull();
  });

  it("goes faster with Shift", () => {
    expect(boundTo(press("D", { code: "KeyD", shiftKey: true }))).toEqual({
      action: "right",
      isFast: true,
    });
    expect(boundTo(press("N", { shiftKey: true }))?.isFast).toBe(false);
  });
});

it("names each command once", () => {
  const actions = COMMANDS.map(({ action }) => action);
  expect(new Set(actions).size).toBe(actions.length);
});
