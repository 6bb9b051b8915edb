import { describe, expect, it } from "vitest";
import { roundToSum, sum } from "./rounding";

describe("rounding to a sum", () => {
  it("gives the missing tenth to the largest remainder", () => {
    // Each third alone would be 33.3, and the reader would add up 99.9.
    expect(roundToSum([100 / 3, 100 / 3, 100 / 3], 0.1).map((x) => x.toFixed(1))).toEqual([
      "33.4",
      "33.3",
      "33.3",
    ]);
  });

  it("adds up for a real step", () => {
    const step = [98.589, 1.9153, 0.089, 59.2618, 14.9237, 1.6965, 1.1557];
    const shown = roundToSum(step, 0.1);
    expect(sum(shown)).toBeCloseTo(177.6, 9);
    shown.forEach((value, i) => {
      expect(Math.abs(value - (step[i] ?? 0))).toBeLessThan(0.1);
    });
  });

  it("takes what does not add up from the part that may give way", () => {
    // Each to its nearest: 61.3 + 13.8 + 2.9 + 1.2 = 79.2, but the whole is 79.1.
    const idle = [61.257, 13.76, 2.87, 1.213];
    const texts = (parts: number[]) => parts.map((part) => part.toFixed(1));
    expect(texts(roundToSum(idle, 0.1, { slack: 3 }))).toEqual(["61.3", "13.8", "2.9", "1.1"]);
    expect(texts(roundToSum(idle, 0.1))).toEqual(["61.2", "13.8", "2.9", "1.2"]);
  });

  it("does not take from a part that has nothing to give", () => {
    expect(roundToSum([1.5, 1.5, 0.2], 1, { slack: 2 })).toEqual([2, 1, 0]);
  });

  it("adds up to a whole that was rounded before", () => {
    expect(roundToSum([1.26, 1.26], 0.1, { whole: 2.6 }).map((x) => x.toFixed(1))).toEqual([
      "1.3",
      "1.3",
    ]);
  });

  it("adds up and moves no part by a whole quantum, whatever the parts", () => {
    let seed = 1;
    const random = () => {
      seed = (seed * 48271) % 2147483647;
      return seed / 2147483647;
    };
    for (let round = 0; round < 200; round += 1) {
      const parts = Array.from({ length: 1 + Math.floor(random() * 9) }, () => random() * 1e3);
      const shown = roundToSum(parts, 1);
      expect(sum(shown)).toBe(Math.round(sum(parts)));
      shown.forEach((value, i) => {
        expect(value).toBeGreaterThanOrEqual(0);
        expect(Math.abs(value - (parts[i] ?? 0))).toBeLessThan(1);
      });
    }
  });

  it("leaves nothing as nothing", () => {
    expect(roundToSum([], 0.1)).toEqual([]);
    expect(roundToSum([0, 0], 0.1)).toEqual([0, 0]);
  });
});
