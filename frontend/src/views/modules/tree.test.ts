import { expect, it } from "vitest";
import type { ModuleRow } from "../../api/types.gen";
import {
  ALL_LEVELS,
  byParent,
  isOpen,
  MOST_WAYS,
  seenRows,
  USUAL_LEVELS,
  waysToCompiled,
} from "./tree";

const rowOf = (key: string, parent: string, total_ns: number, more: Partial<ModuleRow> = {}) =>
  ({ key, parent, name: `m${key}`, total_ns, members: 1, inside: 1, ...more }) as ModuleRow;

const TREE = [
  rowOf("0", "", 10),
  rowOf("1", "0", 3),
  rowOf("2+", "0", 7, { members: 2, inside: 2 }),
  rowOf("5", "1", 3, { inside: 0 }),
];
const MEMBERS = [rowOf("2", "2+", 4, { inside: 0 }), rowOf("3", "2+", 3, { inside: 0 })];
const DOWN = { key: "total_ns", isDown: true };

const shown = (toggled: readonly string[], sorting = DOWN, levels = USUAL_LEVELS) =>
  seenRows(byParent([TREE, MEMBERS]), { levels, toggled: new Set(toggled) }, sorting).map(
    ({ key, depth }) => "  ".repeat(depth) + key,
  );

it("opens two levels, and no row of several siblings", () => {
  expect(shown([])).toEqual(["0", "  2+", "  1", "    5"]);
});

it("opens and closes what was pressed", () => {
  expect(shown(["2+", "1"])).toEqual(["0", "  2+", "    2", "    3", "  1"]);
  expect(shown(["0"])).toEqual(["0"]);
});

it("sorts siblings, never across parents", () => {
  expect(shown([], { key: "name", isDown: false })).toEqual(["0", "  1", "    5", "  2+"]);
});

it("has nothing to open in a row without rows", () => {
  const row = rowOf("5", "1", 3, { inside: 0, depth: 0 });
  expect(isOpen(row, { levels: 2, toggled: new Set(["5"]) })).toBe(false);
});

it("opens all levels of what a search finds, but rows of several on demand", () => {
  const deep = [...TREE, rowOf("6", "5", 3, { inside: 1 }), rowOf("7", "6", 3, { inside: 0 })];
  const rows = deep.map((row) => (row.key === "5" ? { ...row, inside: 1 } : row));
  const keys = (levels: number) =>
    seenRows(byParent([rows]), { levels, toggled: new Set() }, DOWN).map(({ key }) => key);
  expect(keys(ALL_LEVELS)).toEqual(["0", "2+", "1", "5", "6", "7"]);
  expect(keys(USUAL_LEVELS)).toEqual(["0", "2+", "1", "5"]);
});

it("opens the way to a compiled function, however deep it lies, until someone closes it", () => {
  const rows = [
    rowOf("0", "", 10, { compiled: null }),
    rowOf("1", "0", 3, { compiled: null }),
    rowOf("5", "1", 3, { compiled: null }),
    rowOf("6", "5", 2, { compiled: "2 versions" }),
    rowOf("7", "6", 1, { compiled: null, inside: 0 }),
    rowOf("8", "1", 1, { compiled: null }),
    rowOf("9", "8", 1, { compiled: null, inside: 0 }),
  ];
  const keys = (toggled: readonly string[]) =>
    seenRows(
      byParent([rows]),
      { levels: USUAL_LEVELS, ways: waysToCompiled(rows), toggled: new Set(toggled) },
      DOWN,
    ).map(({ key }) => key);
  expect(keys([])).toEqual(["0", "1", "5", "6", "8"]);
  expect(keys(["5"])).toEqual(["0", "1", "5", "8"]);
});

it("opens the ways to the longest compiled functions alone", () => {
  const rows = Array.from({ length: MOST_WAYS + 1 }, (_, at) => [
    rowOf(`${at}`, "", 10, { compiled: null }),
    rowOf(`c${at}`, `${at}`, at, { compiled: "1 version" }),
  ]).flat();
  expect([...waysToCompiled(rows)]).toEqual(["8", "7", "6", "5", "4", "3", "2", "1"]);
});
