import { describe, expect, it } from "vitest";
import { OVERVIEW, STEPS } from "../../../test-fixtures/resnet";
import type { Overview, StepRow } from "../../api/types.gen";
import { type RulerModel, rulerModel, stepOf } from "./parts";

const plain = (text: string) => text.replaceAll("\u00a0", " ");

/** What a reader adds up: the shown numbers of all parts. */
const addedUp = (model: RulerModel) =>
  model.parts.reduce((total, part) => total + Number(part.time.replaceAll(",", "")), 0);

describe("the mean step", () => {
  const model = rulerModel(OVERVIEW, "mean");

  it("is shown in parts that add up to it, in time and in shares", () => {
    expect(model.parts.map((part) => plain(`${part.label} ${part.time} ${part.percent}`))).toEqual([
      "Compute 98.6 55.5 %",
      "Exposed communication 0.0 0 %",
      "Exposed copy 1.9 1.1 %",
      "Memset 0.1 < 0.1 %",
      "Idle: DataLoader 59.3 33.4 %",
      "Idle: host dispatch 14.9 8.4 %",
      "Idle: launch API 1.7 1.0 %",
      "Idle: blocking call 0.0 0 %",
      "Idle: unattributed 1.1 0.6 %",
    ]);
    expect(addedUp(model)).toBeCloseTo(177.6, 6);
  });

  it("is busy and idle, which add up too", () => {
    expect(
      [model.busy, model.idle].map(({ time, percent }) => plain(`${time} ${percent}`)),
    ).toEqual(["100.6 56.6 %", "77.0 43.4 %"]);
  });

  it("is proven with the exact sum of its steps", () => {
    expect(plain(`${model.steps} · ${model.proof}`)).toBe(
      "6 steps · Parts sum to 1,065,553 µs exactly",
    );
    expect(model.isProven).toBe(true);
  });
});

it("says so when the parts miss the whole, instead of claiming a proof", () => {
  const [first, ...rest] = STEPS;
  const broken: Overview = {
    ...OVERVIEW,
    steps: first === undefined ? [] : [{ ...first, dur_ns: first.dur_ns + 7 }, ...rest],
  };
  const { proof, isProven } = rulerModel(broken, "mean");
  expect(plain(proof)).toBe("Parts sum to 1,065,553 µs, not to 1,065,553,007 ns");
  expect(isProven).toBe(false);
});

describe("one step in the place of the mean", () => {
  const lengthOf = (step: StepRow | null) => step?.dur_ns;

  it("is the longest, or that of median length", () => {
    expect(lengthOf(stepOf(OVERVIEW, "worst"))).toBe(187_948_000);
    expect(lengthOf(stepOf(OVERVIEW, "median"))).toBe(175_153_000);
    expect(stepOf(OVERVIEW, "mean")).toBeNull();
  });

  it("is looked for among the chosen steps only", () => {
    const steps = STEPS.map((step) => ({ ...step, chosen: step.number > 7 }));
    expect(stepOf({ ...OVERVIEW, steps }, "worst")?.number).toBe(9);
    const single = STEPS.map((step) => ({ ...step, chosen: step.number === 7 }));
    expect(stepOf({ ...OVERVIEW, steps: single }, "worst")).toBeNull();
  });

  it("adds up by itself", () => {
    const model = rulerModel(OVERVIEW, "worst");
    expect(addedUp(model)).toBeCloseTo(187.9, 6);
    expect(plain(`${model.steps} · ${model.proof}`)).toBe(
      "step 5 · Parts sum to 187,948 µs exactly",
    );
  });
});

it("draws a part too small to be shown as such, not as zero", () => {
  const shares = OVERVIEW.ruler.shares.map((part) =>
    part.key === "memset_ns" ? { ...part, mean_ns: 900 } : part,
  );
  const model = rulerModel({ ...OVERVIEW, ruler: { ...OVERVIEW.ruler, shares } }, "mean");
  const memset = model.parts.find((part) => part.key === "memset_ns");
  expect(memset?.time).toBe("< 0.1");
  expect(plain(memset?.percent ?? "")).toBe("< 0.1 %");
});

it("survives a recording without any time", () => {
  const shares = OVERVIEW.ruler.shares.map((part) => ({ ...part, mean_ns: 0 }));
  const empty = { ...OVERVIEW, steps: [], ruler: { ...OVERVIEW.ruler, shares } };
  const model = rulerModel(empty, "mean");
  expect(model.parts.every((part) => part.ratio === 0)).toBe(true);
  const nothing = { ...empty, ruler: { ...empty.ruler, shares: [] } };
  expect(rulerModel(nothing, "mean")).toMatchObject({ parts: [], total_ns: 0 });
});

it("says of the host what the sentence says: only what was not recorded gives way", () => {
  const values = { dataloader: 23.96, forward: 30.96, backward: 28.77, communication: 12.26 };
  const shares = Object.entries({ ...values, optimizer: 0.46, uninstrumented: 4.16 }).map(
    ([key, ms]) => ({
      key: `${key}_ns`,
      label: key,
      category: "cpu",
      ghost: key === "uninstrumented",
      mean_ns: ms * 1e6,
      ratio: 0,
      help: "",
      link: null,
    }),
  );
  const model = rulerModel({ ...OVERVIEW, ruler: { ...OVERVIEW.ruler, shares } }, "mean");
  expect(model.parts.map((part) => part.time)).toEqual([
    "24.0",
    "31.0",
    "28.8",
    "12.3",
    "0.5",
    "4.0",
  ]);
});
