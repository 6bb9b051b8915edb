import { describe, expect, it } from "vitest";
import type { MemoryCurve } from "../../../api/types.gen";
import {
  byteTicks,
  extentOf,
  frameOf,
  instantAt,
  movedInstant,
  pointAt,
  rangeBetween,
  stepsOfRange,
  timeTicks,
  xOf,
  yOf,
} from "./frame";
import { stackOf } from "./paint";

const GIB = 2 ** 30;

const curveOf = (change: Partial<MemoryCurve> = {}): MemoryCurve => ({
  device: "cuda:0",
  start_ns: 0,
  end_ns: 1000,
  ts: [0, 100, 400, 1000],
  allocated: [0, 3 * GIB, GIB, GIB],
  reserved: null,
  layers: [],
  is_change: false,
  events: 2,
  is_exact: true,
  peak_ns: 100,
  peak_bytes: 3 * GIB,
  ...change,
});

const plain = (text: string) => text.replaceAll("\u00a0", " ");

describe("the scales", () => {
  it("lead from an instant to its place and back", () => {
    const curve = curveOf();
    const frame = frameOf(curve, extentOf(curve, null), 1000, 268);
    for (const ts of [0, 137, 1000]) {
      expect(instantAt(frame, xOf(frame, ts))).toBe(ts);
    }
    expect(instantAt(frame, -50)).toBe(0);
    expect(instantAt(frame, 5000)).toBe(1000);
    expect(yOf(frame, 0)).toBe(frame.bottom);
    expect(yOf(frame, 3 * GIB)).toBeGreaterThan(frame.top);
  });

  it("have room for the capacity, unless that leaves the curve none", () => {
    const near = extentOf(curveOf(), 5 * GIB);
    expect([near.hasCapacity, near.high > 5 * GIB]).toEqual([true, true]);
    const far = extentOf(curveOf(), 80 * GIB);
    expect([far.hasCapacity, far.high < 4 * GIB]).toEqual([false, true]);
    // A change does not begin at what is allocated: the capacity says nothing there.
    expect(extentOf(curveOf({ is_change: true }), 4 * GIB).hasCapacity).toBe(false);
  });

  it("reach below nothing where more is released than was allocated", () => {
    const curve = curveOf({ allocated: [0, -GIB, GIB, 0], is_change: true });
    const { low, high } = extentOf(curve, null);
    expect(low).toBe(-GIB);
    expect(byteTicks({ low, high }).map(({ text }) => plain(text))).toEqual([
      "−1 GiB",
      "0",
      "1 GiB",
    ]);
  });

  it("tell bytes in binary units and times in one unit", () => {
    expect(byteTicks({ low: 0, high: 3.2 * GIB }).map(({ text }) => plain(text))).toEqual([
      "0",
      "1 GiB",
      "2 GiB",
      "3 GiB",
    ]);
    const zoomed = timeTicks({ start: 397.13e6, end: 397.19e6 }, 4).map(({ text }) => plain(text));
    expect(zoomed).toEqual(["397.14 ms", "397.16", "397.18"]);
    expect(plain(timeTicks({ start: 0, end: 9e8 }, 9)[0]?.text ?? "")).toBe("0 ms");
  });
});

describe("instants", () => {
  it("have the value of the last point before them", () => {
    const { ts } = curveOf();
    expect([0, 99, 100, 399, 1000, 5000].map((at) => pointAt(ts, at))).toEqual([0, 0, 1, 1, 3, 3]);
    expect(pointAt(ts, -5)).toBe(0);
  });

  it("make a range, whichever comes first, never an empty one", () => {
    const whole = { start: 0, end: 1000 };
    expect(rangeBetween(whole, 600, 200)).toEqual({ start: 200, end: 600 });
    expect(rangeBetween(whole, 600, 5000)).toEqual({ start: 600, end: 1000 });
    expect(rangeBetween(whole, 300, 300)).toEqual({ start: 299, end: 300 });
    expect(rangeBetween(whole, 0, 0)).toEqual({ start: 0, end: 1 });
    expect(rangeBetween(whole, 1000, 1000)).toEqual({ start: 999, end: 1000 });
    expect(movedInstant(whole, 990, 0.1)).toBe(1000);
  });

  it("name the steps that a range touches, not those it brushes", () => {
    const steps = [3, 4, 5].map((number) => ({
      name: `ProfilerStep#${number}`,
      number,
      start_ns: 100 * number,
      end_ns: 100 * number + 100,
    }));
    expect(stepsOfRange(steps, { start: 400, end: 500 })).toBe("step 4");
    expect(stepsOfRange(steps, { start: 350, end: 600 })).toBe("steps 3–5");
    expect(stepsOfRange(steps, { start: 399.9, end: 500.1 })).toBe("step 4");
    expect(stepsOfRange(steps, { start: 0, end: 100 })).toBe("");
  });
});

it("the layers are stacked up to the total at every point", () => {
  const layers = [
    { key: "parameter", label: "Parameters", values: [0, GIB, GIB, GIB] },
    { key: "activation", label: "Activations", values: [0, 2 * GIB, 0, 0] },
  ];
  const curve = curveOf({ layers });
  expect(stackOf(curve).at(-1)).toEqual(curve.allocated);
});
