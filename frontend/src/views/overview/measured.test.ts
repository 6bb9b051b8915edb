import { describe, expect, it } from "vitest";
import type { MeasuredColumn, MeasuredRow } from "../../api/types.gen";
import { measuredTable, measuredWords } from "./measured";

describe("measuredWords", () => {
  it.each([
    [437.154, "W", "437"],
    [1903.9, "MHz", "1,904"],
    [43.1517, "%", "43.2"],
    [4.357, "J", "4.36"],
    [0.7526, "J", "0.753"],
    [0.001996, "J", "2.00\u00a0mJ"],
    [0, "%", "0"],
    [4_935_825_530, "", "4.94\u00a0G"],
    [320_428_156, "", "320\u00a0M"],
    [4_935_825_530, "B/s", "4.60\u00a0GiB/s"],
  ])("writes %d %s as %s", (value, unit, words) => {
    expect(measuredWords(value, unit)).toBe(words);
  });
});

describe("measuredTable", () => {
  it("has every figure in full, and nothing where samples cover too little", () => {
    const heads: MeasuredColumn[] = [
      { key: "energy", label: "Energy", unit: "J", help: "" },
      { key: "nvlink_tx", label: "NVLink sent", unit: "", help: "" },
    ];
    const row: MeasuredRow = {
      key: "step",
      label: "Step",
      category: "",
      ghost: false,
      ns: 1000,
      cells: [
        { value: 4.3571, covered: 1 },
        { value: null, covered: 0.2 },
      ],
    };
    expect(measuredTable(heads, "Part", [row])).toEqual({
      header: ["part", "ns", "energy (J)", "nvlink_tx"],
      rows: [["Step", 1000, 4.3571, null]],
    });
  });
});
