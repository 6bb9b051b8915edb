import { expect, it } from "vitest";
import { levelsOf, questionOf, windowOf } from "./stored";

it("names a question without the trace and without what is usual, in one order", () => {
  const given = [
    ["run", "a"],
    ["sort_by", "calls"],
    ["limit", "200"],
    ["digest", "d"],
    ["group_by", "name"],
  ] as const;
  expect(questionOf("view/x/table", given, { limit: "200", group_by: "name" })).toBe(
    "view/x/table?digest=d&sort_by=calls",
  );
  expect(questionOf("info", [], {})).toBe("info");
});

const table = {
  rows: [
    { name: "b", calls: 3 },
    { name: "a10", calls: null },
    { name: "a9", calls: 7 },
  ],
  count: 3,
  sort_by: "name",
  sum: 10,
};
const names = (found: typeof table | null) => found?.rows.map(({ name }) => name);

it("gives windows of stored rows in their order", () => {
  const asked = new Map([
    ["offset", "1"],
    ["limit", "1"],
  ]);
  const found = windowOf(table, asked, "stored");
  expect(names(found)).toEqual(["a10"]);
  expect([found?.count, (found as unknown as { offset: number }).offset]).toEqual([3, 1]);
});

it("sorts all rows as asked, those without a value last", () => {
  const by = (key: string, ascending: string) =>
    names(windowOf(table, new Map(Object.entries({ sort_by: key, ascending })), "asked"));
  expect(by("calls", "false")).toEqual(["a9", "b", "a10"]);
  expect(by("calls", "true")).toEqual(["b", "a9", "a10"]);
  expect(by("name", "true")).toEqual(["a9", "a10", "b"]);
});

it("has no answer where the rows it would need are not here", () => {
  const part = { ...table, count: 4 };
  const next = new Map([
    ["offset", "3"],
    ["limit", "1"],
  ]);
  expect(windowOf(part, next, "stored")).toBeNull();
  expect(windowOf(part, new Map([["sort_by", "calls"]]), "asked")).toBeNull();
  expect(names(windowOf(part, new Map([["limit", "3"]]), "stored"))).toEqual(["b", "a10", "a9"]);
});

it("knows which levels of the timeline it has", () => {
  expect(levelsOf("")).toEqual({ everywhere: 0, inRanges: 0, ranges: [] });
  expect(levelsOf("9")).toEqual({ everywhere: 9, inRanges: 9, ranges: [] });
  expect(levelsOf("9 4 1000-2000,5000-5200")).toEqual({
    everywhere: 9,
    inRanges: 4,
    ranges: [
      [1000, 2000],
      [5000, 5200],
    ],
  });
});
