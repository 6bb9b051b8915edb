import { describe, expect, it } from "vitest";
import { recordingOf, sliceOf } from "../../../../test-fixtures/timeline";
import type { Arrow, JoinedArrow, PathArrow } from "../../../api/types.gen";
import { align } from "../state/sources";
import { bundled, drawnArrows, joinedArrows, pathArrows } from "./arrows";

const [source] = align(recordingOf("rank0"), [], "clock").sources;

/** Launches by slice 1 … n, 10 ns apart, of kernels 500 ns later. */
const launches = (count: number): Arrow[] =>
  Array.from({ length: count }, (_, i) => ({
    kind: 0,
    source: sliceOf(i + 1, { ts: i * 10, dur: 5 }),
    target: sliceOf(1000 + i, { ts: i * 10 + 505, dur: 5, track: 4, lane: 0 }),
    count: 1,
  }));

describe("arrows of a selection", () => {
  it("are drawn one by one while they are few", () => {
    expect(bundled(launches(12))).toHaveLength(12);
  });

  it("become a dozen at most, and none is lost from the count", () => {
    const few = bundled(launches(218));
    expect(few.length).toBeLessThanOrEqual(12);
    expect(few.reduce((sum, arrow) => sum + arrow.count, 0)).toBe(218);
    expect(few[0]?.source.slice).toBe(1);
  });

  it("have a word at the first of each kind and direction", () => {
    const labels = drawnArrows(launches(3), source, null).map((arrow) => arrow.label);
    expect(labels).toEqual(["", "", ""]);
    const own = launches(2).map((arrow) => ({ ...arrow, source: sliceOf(1, { ts: 0, dur: 5 }) }));
    const words = drawnArrows(own, source, 1).map((arrow) => arrow.label.replaceAll("\u00a0", " "));
    expect(words).toEqual(["2 kernels, 500 ns later", ""]);
  });

  it("tell what waits inside a graph from what was launched", () => {
    const [wait] = launches(1).map((arrow) => ({ ...arrow, kind: 2 }));
    const words = (arrows: Arrow[]) =>
      drawnArrows(arrows, source, wait?.source.slice ?? 0).map(({ label }) =>
        label.replaceAll("\u00a0", " "),
      );
    expect(wait && words([wait])).toEqual(["waits for it, 500 ns later"]);
    expect(wait && words([{ ...wait, count: 3 }])).toEqual(["3 nodes wait, 500 ns later"]);
  });

  it("lie on the axis of the view", () => {
    const [arrow] = drawnArrows(launches(1), { ...source, source: 2, offset: 7000 }, null);
    expect(arrow?.from).toMatchObject({ key: { source: 2, slice: 1 }, start: 7000, end: 7005 });
  });
});

describe("collectives of several workers", () => {
  const { sources } = align(
    recordingOf("rank0"),
    [recordingOf("rank1"), recordingOf("rank2")],
    "start",
  );
  const placed = sources.map((one, place) => ({ ...one, offset: place * 1000 }));
  const end = (slice: number, ts: number) => ({ slice, track: 3, lane: 0, ts, dur: 50 });
  const arrow = (slice: number, target: number): JoinedArrow => ({
    operation: "all_reduce",
    group: "default_pg",
    start_source: 2,
    start: end(slice, 400),
    end_source: target,
    end: end(slice + target, 100),
    skew_ns: 300,
    last: "rank 2",
  });

  it("lead from the start of the last to the end of each other, on the axis", () => {
    const [first, second] = joinedArrows([arrow(7, 0), arrow(7, 1)], placed);
    expect(first?.from).toMatchObject({ key: { source: 2, slice: 7 }, start: 2400, end: 2400 });
    expect(first?.to).toMatchObject({ key: { source: 0, slice: 7 }, start: 150, end: 150 });
    expect(second?.to).toMatchObject({ key: { source: 1, slice: 8 }, start: 1150 });
  });

  it("have one word each while they are few", () => {
    const words = (arrows: JoinedArrow[]) =>
      joinedArrows(arrows, placed).map(({ label }) => label.replaceAll("\u00a0", " "));
    expect(words([arrow(7, 0), arrow(7, 1)])).toEqual(["all_reduce, rank 2 last by 300 ns", ""]);
    const many = [1, 20, 40, 60, 80].map((slice) => arrow(slice, 0));
    expect(words(many)).toEqual(["", "", "", "", ""]);
  });

  it("are left out where a worker is not there any more", () => {
    expect(joinedArrows([{ ...arrow(7, 0), end_source: 5 }], placed)).toEqual([]);
  });
});

describe("arrows of the critical path", () => {
  const arrow: PathArrow = {
    source: sliceOf(1, { ts: 100, dur: 50 }),
    target: sliceOf(2, { ts: 160, dur: 500, track: 4, lane: 0 }),
    leave_ns: 150,
    arrive_ns: 160,
    label: "Launch latency",
    slack_ns: 2000,
    inferred: false,
  };
  const words = (of: PathArrow) =>
    pathArrows([of], source).map(({ label }) => label.replaceAll("\u00a0", " "))[0];

  it("go from the instant of leaving to that of arriving, on the axis of the view", () => {
    const [drawn] = pathArrows([arrow], { ...source, offset: 7000 });
    expect(drawn?.from).toMatchObject({ key: { slice: 1 }, start: 7150, end: 7150 });
    expect(drawn?.to).toMatchObject({ key: { slice: 2 }, track: 4, start: 7160, end: 7160 });
  });

  it("say what comes, and by how much the part before can get shorter", () => {
    expect(words(arrow)).toBe("Launch latency, slack 2.00 µs");
    expect(words({ ...arrow, slack_ns: -1, inferred: true })).toBe("Launch latency, inferred");
  });
});
