import { describe, expect, it } from "vitest";
import type { MemoryEventRow } from "../../../api/types.gen";
import { exactSize } from "./panel";
import { afterWords, beforeWords, parseBytes } from "./sizes";

describe("a size that is typed", () => {
  it.each([
    ["4096", 4096],
    ["512 KiB", 2 ** 19],
    ["10 MiB", 10 * 2 ** 20],
    ["10m", 10 * 2 ** 20],
    ["1.5 GB", 1.5e9],
    ["1.5 GiB", 1.5 * 2 ** 30],
    [" 1,024 b ", 1024],
    [".5k", 512],
    ["", null],
    ["ten", null],
    ["-3", null],
    ["1 PiB", null],
    ["9999999999 T", null],
  ])("%j", (text, size) => {
    expect(parseBytes(text)).toBe(size);
  });

  it("is shown so that it means the same again", () => {
    expect(exactSize(10 * 2 ** 20)).toBe("10.0 MiB");
    expect(exactSize(1_234_567)).toBe("1234567");
    for (const size of [0, 1, 1023, 4096, 98 * 2 ** 20 + 1, 3 * 2 ** 30]) {
      expect(parseBytes(exactSize(size))).toBe(size);
    }
  });
});

describe("a time that is missing", () => {
  const row = (start: number | null, end: number | null) =>
    ({ life_start_ns: start, life_end_ns: end }) as MemoryEventRow;
  const range = { start: 100, end: 200 };

  it("says whether it lies outside of the range or of the recording", () => {
    expect(beforeWords(row(null, 150))).toBe("before recording");
    expect(beforeWords(row(50, 150))).toBe("before range");
    expect(afterWords(row(150, null), range)).toBe("after recording");
    expect(afterWords(row(150, 250), range)).toBe("after range");
    expect(afterWords(row(150, 170), range)).toBe("not recorded");
  });
});
