import { describe, expect, it } from "vitest";
import {
  ago,
  axisNumber,
  bytes,
  change,
  count,
  exactTime,
  fixed,
  inScale,
  inScaleOrZero,
  plural,
  share,
  time,
  timeScale,
  times,
  withUnit,
} from "./format";
import cases from "./format.cases.json";

/** The no-break spaces made visible as plain ones, so that the tables below can be read. */
const plain = (text: string) => text.replaceAll("\u00a0", " ");

describe("time in prose has three significant digits", () => {
  it.each([
    [840, "840 ns"],
    [22_900, "22.9 µs"],
    [229_000, "229 µs"],
    [999_400, "999 µs"],
    [999_600, "1.00 ms"],
    [59_300_000, "59.3 ms"],
    [99_960_000, "100 ms"],
    [1_020_000_000, "1.02 s"],
    [119_000_000_000, "119 s"],
    [134_000_000_000, "2 m 14 s"],
    [7_260_000_000_000, "2 h 1 m"],
    [-1_500_000, "−1.50 ms"],
    [0, "0"],
  ])("%d ns is %s", (ns, text) => {
    expect(plain(time(ns))).toBe(text);
  });
});

it("keeps the unit on the line of its number", () => {
  expect(time(59_300_000)).toBe("59.3\u00a0ms");
  expect(share(0.334)).toBe("33.4\u00a0%");
});

describe("time in columns has one unit", () => {
  it.each([
    [177_592_000, 142_500_000, "142.5 ms"],
    [177_592_000, 100_000, "0.1 ms"],
    [46_200_000, 1_234_000, "1.23 ms"],
    [5_328_000, 5_328_000, "5.328 ms"],
    [800, 12, "12 ns"],
    [1_195_141_047, 482_900_000, "482.9 ms"],
    [12_000_000_000, 482_900_000, "0.48 s"],
  ])("in a column up to %d ns, %d ns is %s", (largest, ns, text) => {
    expect(plain(withUnit(ns, timeScale(largest)))).toBe(text);
  });
  it("leaves the unit to the header", () => {
    expect(inScale(98_589_000, timeScale(177_592_000))).toBe("98.6");
    expect(inScale(400, timeScale(6_078_000))).toBe("<\u00a00.001");
    expect(inScale(0, timeScale(6_078_000))).toBe("0.000");
    expect(inScaleOrZero(0, timeScale(6_078_000))).toBe("0");
    expect(inScaleOrZero(400, timeScale(6_078_000))).toBe("<\u00a00.001");
  });
});

it("writes axes with as many decimals as their numbers have", () => {
  expect([0, 0.25, 0.5, 100, 1200, 2.5000000000000004].map(axisNumber)).toEqual([
    "0",
    "0.25",
    "0.5",
    "100",
    "1,200",
    "2.5",
  ]);
});

describe("proofs are whole numbers", () => {
  it.each([
    [1_065_553_000, "1,065,553 µs"],
    [1_065_553_123, "1,065,553,123 ns"],
    [0, "0 µs"],
  ])("%d", (ns, text) => {
    expect(plain(exactTime(ns))).toBe(text);
  });
});

describe("shares", () => {
  it.each([
    [0.3337, 1, "33.4 %"],
    [0.55514, 2, "55.51 %"],
    [0.0004, 1, "< 0.1 %"],
    [0.0006, 1, "0.1 %"],
    [0.00004, 2, "< 0.01 %"],
    [0, 1, "0 %"],
    [1, 1, "100.0 %"],
    [1.07, 1, "107.0 %"],
  ])("%d with %d decimals is %s", (ratio, decimals, text) => {
    expect(plain(share(ratio, decimals))).toBe(text);
  });
});

describe("sizes and rates", () => {
  it.each([
    [132, "132 B"],
    [12_288, "12.0 KiB"],
    [102_760_448, "98.0 MiB"],
    [3_081_632_121, "2.87 GiB"],
    [34_089_730_048, "31.7 GiB"],
    [0, "0 B"],
  ])("%d bytes are %s", (value, text) => {
    expect(plain(bytes(value))).toBe(text);
  });
});

describe("counts", () => {
  it.each([
    [2_994, "2,994"],
    [999_999, "999,999"],
    [9_100_000, "9.10 M"],
    [1_234_000_000, "1.23 G"],
    [0, "0"],
  ])("%d is %s", (value, text) => {
    expect(plain(count(value))).toBe(text);
  });
  it("agrees with its noun", () => {
    expect(
      [plural(1, "file"), plural(7, "file"), plural(2, "entry", "entries")].map(plain),
    ).toEqual(["1 file", "7 files", "2 entries"]);
  });
});

it("writes ratios and changes with a sign that needs no colour", () => {
  expect(times(1.193)).toBe("1.19×");
  expect(times(12.4)).toBe("12×");
  expect(plain(change(-36_500_000))).toBe("▼ −36.5 ms");
  expect(plain(change(400_000))).toBe("▲ +400 µs");
  expect(change(0)).toBe("0");
  expect(change(-1e-9)).toBe("0");
});

it("has no negative zero", () => {
  expect(fixed(-0.001, 1)).toBe("0.0");
  expect(fixed(-0.06, 1)).toBe("−0.1");
});

it("says how long ago", () => {
  expect([0.2, 4, 130, 7200, 400_000].map((s) => plain(ago(s)))).toEqual([
    "just now",
    "4 s ago",
    "2 min ago",
    "2 h ago",
    "5 days ago",
  ]);
});

describe("a figure reads as in the sentences of the server", () => {
  const forms = { time, bytes, share, count, times };
  it.each(Object.entries(forms))("%s", (name, form) => {
    const rows = cases[name as keyof typeof forms] as [number, string][];
    expect(rows.map(([value]) => [value, plain(form(value))])).toEqual(rows);
  });
});
