import { expect, test } from "vitest";
import { offsetsOf, rowAmong } from "./use_windows";

test("the windows that hold what is seen", () => {
  expect(offsetsOf(0, 30)).toEqual([0]);
  expect(offsetsOf(190, 230)).toEqual([0, 200]);
  expect(offsetsOf(400, 400)).toEqual([400]);
});

test("a row is found in its window", () => {
  const windows = [{ rows: ["a", "b"], offset: 200, count: 300 }, undefined];
  expect(rowAmong(windows, 201)).toBe("b");
  expect(rowAmong(windows, 1)).toBeUndefined();
  expect(rowAmong(windows, 202)).toBeUndefined();
});
