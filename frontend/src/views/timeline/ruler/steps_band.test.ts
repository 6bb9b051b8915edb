import { expect, it } from "vitest";
import { lengthOf, stepBoxes, wordsOf } from "./steps_band";

const plain = (text: string) => text.replaceAll("\u00a0", " ");
const step = (length_ns: number) => ({
  index: 0,
  name: "ProfilerStep#5",
  ts: 0,
  end: 176e6,
  length_ns,
});
const words = (length_ns: number) =>
  stepBoxes([step(length_ns)], 0, 1e6, 400).map((box) => plain(wordsOf(box)));

it("a step has one length", () => {
  expect(plain(lengthOf(step(176e6)))).toBe("176 ms");
  expect(words(176e6)).toEqual(["Step 5, 176 ms"]);
});

it("a step that is longer than its range on the host says both", () => {
  expect(plain(lengthOf(step(188e6)))).toBe("176 ms on host");
  expect(words(188e6)).toEqual([
    "Step 5, 176 ms on host; 188 ms as a step, which lasts from the end of the step before to the end of the device work it launched",
  ]);
});
