import { expect, it } from "vitest";
import { headOf } from "../../../test-fixtures/heads";
import { declaredToPlain } from "./declared";
import { perStepHeads, perStepRow } from "./per_step";

const HEADS = [
  headOf("name", "Name"),
  headOf("total_ns", "Total", { is_numeric: true, is_sum: true, help: "All of it." }),
  headOf("mean_ns", "Mean", { is_numeric: true }),
  headOf("device_ns", "Device", { is_numeric: true, is_sum: true }),
];
const ROW = { name: "add", total_ns: 900, mean_ns: 30, device_ns: null };

it("divides sums, and neither means nor what is not known", () => {
  expect(perStepRow(ROW, HEADS, 4)).toEqual({ ...ROW, total_ns: 225 });
  expect(perStepRow(ROW, HEADS, 1)).toBe(ROW);
});

it("says so in the head, and in the name of the column of a file", () => {
  const heads = perStepHeads(HEADS, { steps: 4, unit: "step" });
  expect(heads.map(({ label }) => label)).toEqual(["Name", "Total/step", "Mean", "Device/step"]);
  expect(heads[1]?.help).toBe("Per step. All of it.");
  const plain = declaredToPlain<typeof ROW>(heads, 4)([perStepRow(ROW, HEADS, 4)]);
  expect(plain.header).toEqual(["name", "total_ns_per_step", "mean_ns", "device_ns_per_step"]);
  expect(plain.rows).toEqual([["add", 225, 30, null]]);
});

it("names the iterations of an engine, and leaves the heads of sums as they are", () => {
  const heads = perStepHeads(HEADS, { steps: 4, unit: "iteration" });
  expect(heads[1]).toMatchObject({ label: "Total/iteration", help: "Per iteration. All of it." });
  expect(perStepHeads(HEADS, { steps: 1, unit: "iteration" })).toBe(HEADS);
});
