import { expect, it } from "vitest";
import { toCsv, toTsv } from "./delimited";

const table = {
  header: ["category", "mean_ns"],
  rows: [
    ['a "quoted", name', 98589000.5],
    ["two\nlines\tand a tab", null],
    ['=HYPERLINK("http://x")', 0],
  ],
} as const;

it("quotes for CSV", () => {
  expect(toCsv(table).split(/\n(?!lines)/)).toEqual([
    "category,mean_ns",
    '"a ""quoted"", name",98589000.5',
    '"two\nlines\tand a tab",',
    '"\'=HYPERLINK(""http://x"")",0',
  ]);
});

it("keeps one row on one line for TSV", () => {
  expect(toTsv(table).split("\n")).toEqual([
    "category\tmean_ns",
    'a "quoted", name\t98589000.5',
    "two lines and a tab\t",
    '\'=HYPERLINK("http://x")\t0',
  ]);
});
