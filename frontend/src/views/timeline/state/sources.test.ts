import { describe, expect, it } from "vitest";
import { MANIFEST, recordingOf } from "../../../../test-fixtures/timeline";
import { align, wholeRange } from "./sources";

const BASE = BigInt(MANIFEST.base_ns);
const later = (ns: bigint) => ({ base_ns: String(BASE + ns) });
const steps = (ts: number) => [
  { index: 0, name: "ProfilerStep#15", ts, end: ts + 1000, length_ns: 1000 },
];

const offsets = (aligned: ReturnType<typeof align>) => aligned.sources.map((s) => s.offset);

describe("several workers on one axis", () => {
  it("are placed by wall clock, exactly", () => {
    const aligned = align(recordingOf("a"), [recordingOf("b", later(253n))], "clock");
    expect(offsets(aligned)).toEqual([0, 253]);
    expect(aligned.note).toBe("Aligned by wall clock.");
    expect(wholeRange(aligned.sources)).toEqual({ start: 0, end: 48_000_253 });
  });

  it("are corrected by what their collectives say of the clocks, which is said", () => {
    const clock = { worker: "b", rank: 1, correction_ns: -700, uncertainty_ns: 20, problem: "" };
    const clocks = { byWorker: new Map([["b", clock]]), sentence: "Clocks fitted." };
    const [a, b] = [recordingOf("a"), recordingOf("b", later(1253n))];
    const aligned = align(a, [b], "clock", clocks);
    expect(offsets(aligned)).toEqual([0, 553]);
    expect(aligned.note).toBe("Aligned by wall clock. Clocks fitted.");
    const byStart = align(a, [b], "start", clocks);
    expect(offsets(byStart)).toEqual([0, 0]);
    expect(byStart.note).not.toContain("fitted");
    expect(byStart.clocks.byWorker.size).toBe(0);
  });

  it("reach before the start of the first", () => {
    const aligned = align(recordingOf("a"), [recordingOf("b", later(-1_000_000n))], "clock");
    expect(wholeRange(aligned.sources)).toEqual({ start: -1_000_000, end: 48_000_000 });
  });

  it("are placed by their first common step where their clocks do not meet, which is said", () => {
    const far = recordingOf("b", { ...later(10n ** 15n), steps: steps(700) });
    const aligned = align(recordingOf("a", { steps: steps(500) }), [far], "clock");
    expect(offsets(aligned)).toEqual([0, -200]);
    expect(aligned.note).toBe(
      "The clocks of these recordings do not match. Aligned by the start of their first common step.",
    );
  });

  it("are placed by their first event where there is neither clock nor step", () => {
    const bare = { base_ns: "0", steps: [] };
    const aligned = align(
      recordingOf("a", bare),
      [recordingOf("b", { ...bare, start_ns: 40 })],
      "clock",
    );
    expect(offsets(aligned)).toEqual([0, -40]);
    expect(aligned.alignment).toBe("start");
    expect(aligned.note).toContain("mean nothing");
  });

  it("need no word when there is one", () => {
    expect(align(recordingOf("a"), [], "clock").note).toBe("");
  });
});
