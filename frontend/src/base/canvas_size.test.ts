import { describe, expect, it } from "vitest";
import { canvasRatio } from "./canvas_size";

describe("how many device pixels a canvas gets", () => {
  it.each([
    [1400, 400, 2, 2],
    [0, 0, 1.5, 1.5],
    // A recursion of a thousand Python frames.
    [1400, 18_000, 2, Math.sqrt(64e6 / (1400 * 18_000))],
    [300, 40_000, 1, 0.8],
  ])("%d × %d at %d", (width, height, wanted, ratio) => {
    expect(canvasRatio(width, height, wanted)).toBeCloseTo(ratio, 9);
  });
});
