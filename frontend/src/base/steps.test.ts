import { describe, expect, it } from "vitest";
import {
  chosenIndexes,
  currentParameter,
  describeSteps,
  inWords,
  neighbour,
  oneStep,
  parameterOfNumbers,
  parseRanges,
  toParameter,
  toRanges,
} from "./steps";

/** Steps 5 to 10; the first is warm-up, the last was cut off. */
const steps = [5, 6, 7, 8, 9, 10].map((number, index) => ({
  index,
  number,
  excluded: number === 5 ? "warm-up" : number === 10 ? "incomplete" : null,
}));
const chosen = (parameter: string) => {
  const indexes = chosenIndexes(steps, parameter);
  return indexes === null ? null : [...indexes];
};

describe("the parameter", () => {
  it.each([
    ["", [1, 2, 3, 4]],
    ["all", [0, 1, 2, 3, 4, 5]],
    ["8", [3]],
    ["7-9", [2, 3, 4]],
    ["9-7", [2, 3, 4]],
    ["5,9-14", [0, 4, 5]],
    ["i3", [3]],
    ["i0-1,i5", [0, 1, 5]],
    ["40-50", null],
    ["i6", null],
    ["x", null],
    ["1,,2", null],
    ["-3", null],
    ["3;drop", null],
  ])("%j chooses %j", (parameter, indexes) => {
    expect(chosen(parameter)).toEqual(indexes);
  });

  it("chooses all steps when every one of them is unusual", () => {
    const cutOff = steps.map((step) => ({ ...step, excluded: "incomplete" }));
    expect(chosenIndexes(cutOff, "")?.size).toBe(6);
  });

  it.each([
    [[1, 2, 3, 4], ""],
    [[0, 1, 2, 3, 4, 5], "all"],
    [[0, 2, 3], "5,7-8"],
    [[5], "10"],
  ])("is the shortest for %j: %j", (indexes, parameter) => {
    expect(toParameter(steps, new Set(indexes))).toBe(parameter);
    expect(chosen(parameter)).toEqual(indexes);
  });
});

it("reads ranges with either dash, and rejects numbers nobody means", () => {
  expect(parseRanges("1–3, i7")).toEqual([
    { from: 1, to: 3, isByPlace: false },
    { from: 7, to: 7, isByPlace: true },
  ]);
  expect(parseRanges("99999999999999999999")).toBeNull();
  expect([[7, 3, 1, 2, 3], [5], [1, 3, 5], []].map((numbers) => toRanges(numbers))).toEqual([
    "1-3,7",
    "5",
    "1,3,5",
    "",
  ]);
});

it("names steps by place where their numbers repeat or cannot be written", () => {
  const repeated = [3, 4, 3, 4, -1].map((number, index) => ({ index, number, excluded: null }));
  expect(toParameter(repeated, new Set([0, 1]))).toBe("i0-1");
  expect(toParameter(repeated, new Set([1, 3]))).toBe("4");
  expect(toParameter(repeated, new Set([0, 2, 3, 4]))).toBe("i0,i2-4");
  expect(chosenIndexes(repeated, "i0,i2-4")).toEqual(new Set([0, 2, 3, 4]));
  const names = repeated.map(({ index }) => oneStep(repeated, index));
  expect(names).toEqual(["i0", "i1", "i2", "i3", "i4"]);
});

it.each([
  ["2", "7"],
  ["0-5", "all"],
  ["1-4", ""],
  ["0,2-3", "5,7-8"],
  // Numbers of steps that are there are meant.
  ["5", "5"],
  ["7-9", "7-9"],
  // Neither a number nor a place: what is wrong stays to be said.
  ["99", "99"],
  ["", ""],
  ["all", "all"],
  ["i2", "i2"],
  ["x", "x"],
])("an address from before, %j, is written %j", (before, now) => {
  expect(currentParameter(steps, before)).toBe(now);
});

it("takes typed step numbers", () => {
  expect(parameterOfNumbers(steps, "6-9")).toBe("");
  expect(parameterOfNumbers(steps, "7")).toBe("7");
  expect(parameterOfNumbers(steps, "1-2")).toBeNull();
  expect(parameterOfNumbers(steps, "seven")).toBeNull();
});

it("describes the choice by step numbers", () => {
  expect(describeSteps(steps, new Set([0, 1, 2, 3, 4, 5]))).toBe("5–10");
  expect(describeSteps(steps, new Set([0, 1, 3]))).toBe("5–6, 8");
});

it("goes to the next and previous step and stops at the ends", () => {
  expect(neighbour(steps, new Set([2]), 1)).toBe("8");
  expect(neighbour(steps, new Set([2]), -1)).toBe("6");
  expect(neighbour(steps, new Set([5]), 1)).toBe("10");
  expect(neighbour(steps, new Set([1, 2, 3]), 1)).toBe("8");
  expect(neighbour(steps, new Set([1, 2, 3]), -1)).toBe("6");
  expect(neighbour([], new Set(), 1)).toBeNull();
});

it("says iteration for step where the steps are those of an engine", () => {
  const said = "A step, `prof.step()`; Mean step of a step, per step. ProfilerStep#1 steps";
  expect(inWords(said, "step")).toBe(said);
  expect(inWords(said, "iteration")).toBe(
    "An iteration, `prof.step()`; Mean iteration of an iteration, per iteration. ProfilerStep#1 iterations",
  );
});
