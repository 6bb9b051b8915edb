import { describe, expect, it } from "vitest";
import { runOf, spanOf, workerOf } from "../../test-fixtures/catalog";
import type { RunInfo } from "../api/types.gen";
import { newestStart, startNote } from "./starts";

const at = (day: number, hour: number, minute: number) =>
  new Date(2026, 2, day, hour, minute).getTime() / 1000;

function started(...saved: readonly number[]): RunInfo {
  const run = runOf("twice", { workers: { worker0: ["ready", "ready"] } });
  return {
    ...run,
    starts: saved.map((when, place) => ({ number: place + 1, saved: when, note: "" })),
  };
}

describe("the words of a start", () => {
  it("number it and say when it was, by the clock of the reader", () => {
    expect(startNote(started(at(3, 9, 30), at(3, 14, 5)), 2)).toBe("start 2 of 2, 14:05");
  });

  it("have the day where the starts are of several days", () => {
    const words = startNote(started(at(2, 9, 30), at(3, 14, 5), at(3, 15, 0)), 1);
    expect(words).toMatch(/^start 1 of 3, .*2.* 09:30$/);
  });

  it("are none where a run has one start, or not the one that is asked for", () => {
    expect(startNote(started(at(3, 9, 30)), 1)).toBe("");
    expect(startNote(started(at(3, 9, 30), at(3, 14, 5)), 3)).toBe("");
  });
});

describe("the newest start of a worker", () => {
  const worker = (...starts: readonly number[]) => ({
    ...workerOf("worker0", []),
    spans: starts.map((start) => ({ ...spanOf("1", "ready"), start })),
  });

  it("is the greatest of its spans, in whatever order they stand", () => {
    expect(newestStart(worker(1, 3, 2))).toBe(3);
  });

  it("is the first where nothing was recorded", () => {
    expect(newestStart(worker())).toBe(1);
  });
});
