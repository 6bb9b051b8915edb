import { render } from "@testing-library/react";
import { expect, it } from "vitest";
import type { OperatorRow } from "../../api/types.gen";
import { cellsOf } from "./cells";

const drawn = (
  key: string,
  row: Partial<OperatorRow>,
  rows: readonly Partial<OperatorRow>[] = [],
) =>
  render(
    cellsOf(rows as OperatorRow[], { group_by: "name" })[key]?.cell?.(row as OperatorRow),
  ).container.textContent?.replaceAll("\u00a0", " ");

it("tells what took no time from what is too short for the unit", () => {
  const rows = [9_000_000, 3, 0].map((total_ns) => ({ total_ns, self_ns: total_ns }));
  expect(rows.map((row) => drawn("total_ns", row, rows))).toEqual(["9.000", "< 0.001", "0"]);
});

it.each([
  [true, 0, "eligible · 0 %"],
  [true, null, "eligible"],
  [false, 0.5, "50 %"],
  [false, null, "–"],
] as const)(
  "says whether an op could use tensor cores, and how many kernels do (%s, %s)",
  (tensor_core_eligible, tensor_core_self_ratio, words) => {
    expect(drawn("tensor_core_self_ratio", { tensor_core_eligible, tensor_core_self_ratio })).toBe(
      words,
    );
  },
);
