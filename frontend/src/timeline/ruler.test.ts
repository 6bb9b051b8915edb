import { expect, it } from "vitest";
import { random } from "../../test-fixtures/fake_trace";
import { rulerTicks } from "./ruler";

it.each([
  [0, 1, 1000, 0, { step: 100, first: 0, count: 11 }],
  [950, 1, 100, 0, { step: 100, first: 10, count: 1 }],
  [0, 1e6, 1000, 5e5, { step: 1e8, first: 0, count: 10 }],
  [100, 0.02, 1000, 0, { step: 2, first: 50, count: 11 }],
])("from %d at %d ns per px over %d px, counted from %d", (start, scale, width, origin, ticks) => {
  expect(rulerTicks(start, scale, width, origin)).toEqual(ticks);
});

it("ticks are 1, 2 or 5 apart, neither crowded nor rare", () => {
  const next = random(1);
  for (let i = 0; i < 500; i += 1) {
    const nsPerPx = 10 ** (next() * 9 - 1);
    const { step, count } = rulerTicks(next() * 1e12, nsPerPx, 1200, next() * 1e12);
    expect([1, 2, 5]).toContain(
      Number((step / 10 ** Math.floor(Math.log10(step) + 1e-9)).toFixed(6)),
    );
    expect(step / nsPerPx).toBeGreaterThanOrEqual(89.9);
    expect(count).toBeGreaterThanOrEqual(4);
    expect(count).toBeLessThanOrEqual(14);
  }
});
