import { expect, it, vi } from "vitest";
import { KIND } from "../../../base/style/kind_hues";
import { fitting } from "./legend";

vi.mock("../../../base/measure", async (original) => ({
  ...(await original<object>()),
  textWidth: (text: string) => 7 * text.length,
}));

const KINDS = [KIND.op, KIND.module, KIND.python, KIND.runtime, KIND.compute, KIND.communication];

it("shows as many kinds as there is room for, beside the word for the others", () => {
  expect(fitting(KINDS, 0)).toBe(6);
  expect(fitting(KINDS, 1000)).toBe(6);
  const shown = [400, 300, 200, 100, 20].map((room) => fitting(KINDS, room));
  expect(shown).toEqual([...shown].sort((a, b) => b - a));
  expect(shown[0]).toBeLessThan(6);
  expect(shown.at(-1)).toBe(0);
});

it("never shows more than a few, whatever the room", () => {
  const all = Object.values(KIND).filter((kind) => typeof kind === "number");
  expect(fitting(all, 100_000)).toBe(7);
});
