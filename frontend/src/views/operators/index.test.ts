import { expect, it } from "vitest";
import { sumOf } from "./index";

it.each([
  [68_395_667 / 3, 0, "22.80 ms, all of operators"],
  [9_998_600, 4_499_600, "9.999 ms = operators 5.499 + without an operator 4.500"],
  [9_000_000, 3, "9.000 ms = operators 9.000 + without an operator < 0.001"],
] as const)(
  "says device time in one unit, with parts that add up (%s, %s)",
  (whole, lost, said) => {
    expect(sumOf(whole, lost).replaceAll("\u00a0", " ")).toBe(said);
  },
);
