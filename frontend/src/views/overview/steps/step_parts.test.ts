import { describe, expect, it } from "vitest";
import { OVERVIEW, STEPS } from "../../../../test-fixtures/resnet";
import type { Overview } from "../../../api/types.gen";
import { sum } from "../../../base/text/rounding";
import { stepTip } from "./step_chart";
import {
  breakdownParts,
  occurring,
  partitionParts,
  type StepParts,
  stepsTable,
  totalDigits,
} from "./step_parts";

/** A third of the compute of every step has communication under it. */
const overlapped: Overview = {
  ...OVERVIEW,
  steps: STEPS.map((step) => ({
    ...step,
    partition: step.partition && { ...step.partition, overlap_ns: 30_000_000 },
  })),
};

function sums(parts: StepParts | null) {
  return parts === null ? null : STEPS.map((step) => sum(parts.valuesOf(step)));
}

const lengths = STEPS.map((step) => step.dur_ns);

describe("the parts of every step", () => {
  it("sum to its length, by device and by category", () => {
    expect(sums(partitionParts(OVERVIEW))).toEqual(lengths);
    expect(sums(breakdownParts(OVERVIEW))).toEqual(lengths);
  });

  it("sum to its length when compute is drawn in two", () => {
    const parts = partitionParts(overlapped);
    expect(parts?.kinds.map(({ key }) => key).slice(0, 2)).toEqual(["compute_ns", "overlap_ns"]);
    expect(overlapped.steps.map((step) => sum(parts?.valuesOf(step) ?? []))).toEqual(lengths);
  });

  it("are not there when neither device nor thread was seen", () => {
    const steps = STEPS.map((step) => ({ ...step, partition: null, host: null }));
    expect(partitionParts({ ...OVERVIEW, steps })).toBeNull();
  });

  it("fill the legend only where they are anything", () => {
    const breakdown = breakdownParts(OVERVIEW);
    expect(occurring(breakdown, STEPS).has("communication_ns")).toBe(false);
    expect(occurring(breakdown, STEPS).has("memset_ns")).toBe(true);
  });
});

it("copies with full precision and the unit in the name of the column", () => {
  const table = stepsTable(breakdownParts(OVERVIEW), STEPS);
  expect(table.header.slice(0, 3)).toEqual(["step", "dur_ns", "kernel_ns"]);
  expect(table.rows[0]?.slice(0, 3)).toEqual([5, 187_948_000, 98_598_000]);
});

it("explains a column without ever making markup of a name", () => {
  const [first] = STEPS;
  const steps = first === undefined ? [] : [{ ...first, name: "<img src=x>", excluded: "warm-up" }];
  const scale = { unit: { name: "ms", size: 1e6 }, decimals: 1 };
  const chart = { parts: breakdownParts(OVERVIEW), steps, scale, active: null };
  const tip = stepTip(chart, 0);
  expect(tip).toBeInstanceOf(HTMLElement);
  const text = tip instanceof HTMLElement ? tip.textContent : "";
  expect(text).toContain("<img src=x>187.9\u00a0ms");
  expect(text).toContain("warm-up: left out by default");
  expect(text).not.toContain("Communication");
  expect(stepTip(chart, 9)).toBe("");
});

it("writes lengths above narrow columns with fewer decimals", () => {
  expect([7.77, 12.3, 123].map((one) => totalDigits(one, 8))).toEqual([2, 1, 0]);
  expect([7.77, 12.3, 123].map((one) => totalDigits(one, 12))).toEqual([1, 0, 0]);
});
