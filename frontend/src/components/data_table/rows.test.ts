import { expect, test } from "vitest";
import { offsetsOf, sortedRows } from "./rows";
import type { Column } from "./table";

test("the windows that hold what is seen, and the row that has the focus", () => {
  expect(offsetsOf(0, 30, 0)).toEqual([0]);
  expect(offsetsOf(190, 230, 12)).toEqual([0, 200]);
  expect(offsetsOf(400, 400, 450)).toEqual([400]);
  expect(offsetsOf(600, 790, 1)).toEqual([0, 600]);
});

interface Rank {
  readonly name: string;
  readonly ms: number | null;
}

const RANKS: readonly Rank[] = [
  { name: "rank10", ms: 3 },
  { name: "rank9", ms: null },
  { name: "rank1", ms: 8 },
];
const COLUMNS: readonly Column<Rank>[] = [
  { key: "name", head: "Rank", sort: ({ name }) => name, cell: ({ name }) => name },
  { key: "ms", head: "Time", sort: ({ ms }) => ms, cell: ({ ms }) => ms },
];
const order = (key: string, isDown: boolean) =>
  sortedRows(RANKS, COLUMNS, { key, isDown }).map(({ name }) => name);

test("rows go by number and by name, and those without a value come last either way", () => {
  expect(order("name", false)).toEqual(["rank1", "rank9", "rank10"]);
  expect(order("ms", true)).toEqual(["rank1", "rank10", "rank9"]);
  expect(order("ms", false)).toEqual(["rank10", "rank1", "rank9"]);
  expect(sortedRows(RANKS, COLUMNS, null)).toBe(RANKS);
});
