import { expect, it } from "vitest";
import { toCsv, toTsv } from "./delimited";

const table = {
  header: ["category", "mean_ns"],
  rows: [
    ['a "quoted", name', 98589000.5],
    ["two\nlines\tand a tab", null],
    ['=HYPERLINK("http://x")', -1],
    ["\tcmd \u001b[2J\u202e\ud800", 1e21],
    ["-1", -0.5],
  ],
} as const;

it("quotes for CSV", () => {
  expect(toCsv(table).split("\n")).toEqual([
    "category,mean_ns",
    '"a ""quoted"", name",98589000.5',
    "two\\x0alines\\x09and a tab,",
    '"\'=HYPERLINK(""http://x"")",-1',
    "'\\x09cmd \\x1b[2J\\u202e\\ud800,1e+21",
    "'-1,-0.5",
  ]);
});

it("keeps one row on one line for TSV", () => {
  expect(toTsv(table).split("\n")).toEqual([
    "category\tmean_ns",
    'a "quoted", name\t98589000.5',
    "two\\x0alines\\x09and a tab\t",
    '\'=HYPERLINK("http://x")\t-1',
    "'\\x09cmd \\x1b[2J\\u202e\\ud800\t1e+21",
    "'-1\t-0.5",
  ]);
});
