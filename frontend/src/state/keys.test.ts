import { describe, expect, it } from "vitest";
import { chords, isTyping, keyName } from "./keys";

const press = (key: string, init: KeyboardEventInit = {}) =>
  keyName(new KeyboardEvent("keydown", { key, ...init }));

describe("names of keys", () => {
  it("are letters, signs and names", () => {
    expect([press("o"), press("?", { shiftKey: true }), press("Escape")]).toEqual([
      "o",
      "?",
      "Escape",
    ]);
    expect([press("L", { shiftKey: true }), press("k", { metaKey: true })]).toEqual(["l", "mod+k"]);
  });
  it("leave the browser's shortcuts alone", () => {
    expect([press("l", { ctrlKey: true }), press("o", { altKey: true })]).toEqual([null, null]);
  });
});

describe("chords", () => {
  it("take the key after g", () => {
    const chord = chords();
    expect(chord("g", 0)).toBe("g");
    expect(chord("h", 400)).toBe("g h");
    expect(chord("h", 500)).toBe("h");
  });
  it("forget a g long ago", () => {
    const chord = chords();
    chord("g", 0);
    expect(chord("h", 5000)).toBe("h");
  });
});

it("knows where text is typed", () => {
  const field = (type: string) => Object.assign(document.createElement("input"), { type });
  expect(isTyping(field("search"))).toBe(true);
  expect(isTyping(field("radio"))).toBe(false);
  expect(isTyping(document.createElement("textarea"))).toBe(true);
  expect(isTyping(document.createElement("button"))).toBe(false);
  expect(isTyping(null)).toBe(false);
});
