import { describe, expect, it } from "vitest";
import {
  chosenIndexes,
  describeSteps,
  neighbour,
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
    ["3", [3]],
    ["2-4", [2, 3, 4]],
    ["4-2", [2, 3, 4]],
    ["0,4-9", [0, 4, 5]],
    ["40-50", null],
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
    [[0, 2, 3], "0,2-3"],
    [[5], "5"],
  ])("is the shortest for %j: %j", (indexes, parameter) => {
    expect(toParameter(steps, new Set(indexes))).toBe(parameter);
    expect(chosen(parameter)).toEqual(indexes);
  });
});

it("reads ranges with either dash, and rejects numbers nobody means", () => {
  expect(parseRanges("1–3, 7")).toEqual([
    [1, 3],
    [7, 7],
  ]);
  expect(parseRanges("99999999999999999999")).toBeNull();
  expect(toRanges([7, 3, 1, 2, 3])).toBe("1-3,7");
});

it("takes typed step numbers, which are not indexes", () => {
  expect(parameterOfNumbers(steps, "6-9")).toBe("");
  expect(parameterOfNumbers(steps, "7")).toBe("2");
  expect(parameterOfNumbers(steps, "1-2")).toBeNull();
  expect(parameterOfNumbers(steps, "seven")).toBeNull();
});

it("describes the choice by step numbers", () => {
  expect(describeSteps(steps, new Set([0, 1, 2, 3, 4, 5]))).toBe("5–10");
  expect(describeSteps(steps, new Set([0, 1, 3]))).toBe("5–6, 8");
});

it("goes to the next and previous step and stops at the ends", () => {
  expect(neighbour(steps, new Set([2]), 1)).toBe("3");
  expect(neighbour(steps, new Set([2]), -1)).toBe("1");
  expect(neighbour(steps, new Set([5]), 1)).toBe("5");
  expect(neighbour(steps, new Set([1, 2, 3]), 1)).toBe("3");
  expect(neighbour(steps, new Set([1, 2, 3]), -1)).toBe("1");
  expect(neighbour([], new Set(), 1)).toBeNull();
});
