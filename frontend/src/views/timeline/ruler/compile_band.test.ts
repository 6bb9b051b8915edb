import { expect, it } from "vitest";
import { compilationWords } from "./compile_band";

it("tells a first compilation from one that is made again", () => {
  const piece = { id: "0/0", name: "f (a.py:3)", ts: 10, dur_ns: 2_000_000, is_again: false };
  expect(compilationWords(piece)).toBe(
    "0/0 f (a.py:3), 2.00\u00a0ms\nfirst compilation, which is warm-up",
  );
  expect(compilationWords({ ...piece, id: "0/1", is_again: true })).toContain("compiled again");
});
