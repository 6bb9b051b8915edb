import { describe, expect, it } from "vitest";
import { fakeSource, randomTrace } from "../../../test-fixtures/fake_trace";
import type { PlacedSlice, TimelineArrow, TimelineRow } from "../contract";
import { Plan } from "../rows/plan";
import { SourceState } from "../tiles/sources";
import { TileStore } from "../tiles/store";
import { apart, arrowAt, arrowLabels, arrowPaths } from "./arrows";

const sources = new Map([[0, new SourceState(fakeSource(randomTrace(1, 1, 1, 1e6)))]]);
const row = (track: number): TimelineRow => ({
  type: "track",
  key: `t${track}`,
  source: 0,
  track,
  lanes: 1,
  fullLanes: 1,
  mode: "full",
  firstLane: 0,
});
const plan = (...rows: TimelineRow[]) => new Plan(rows, sources, new TileStore(1));
/** Ten tracks of 23 px, of which a little more than four are seen; 1 ns is a px. */
const scene = {
  pinned: plan(),
  rows: plan(...Array.from({ length: 10 }, (_, track) => row(track))),
  camera: { start: 0, nsPerPx: 1, scrollY: 0 },
  width: 1000,
  height: 100,
};

const at = (track: number, start: number, end: number): PlacedSlice => ({
  key: { source: 0, slice: start },
  track,
  lane: 0,
  start,
  end,
});

const arrow = (from: PlacedSlice, to: PlacedSlice, more: Partial<TimelineArrow> = {}) => ({
  from,
  to,
  kind: 0,
  count: 1,
  label: "",
  ...more,
});

describe("an arrow", () => {
  it("goes from the end of the one to the start of the other, in the middle of their lanes", () => {
    const [path] = arrowPaths(scene, [arrow(at(0, 100, 200), at(2, 500, 600))]);
    expect(path).toMatchObject({ x0: 200, y0: 10.5, x1: 500, y1: 56.5 });
    expect(path).toMatchObject({ isFromSeen: true, isToSeen: true });
  });

  it("ends at the edge towards what is out of sight", () => {
    const far = [at(2, 5000, 5100), at(2, -500, -400), at(9, 500, 600)];
    const paths = arrowPaths(
      scene,
      far.map((to) => arrow(at(0, 100, 200), to)),
    );
    expect(paths.map(({ toSide, x1 }) => [toSide, x1])).toEqual([
      ["right", 994],
      ["left", 6],
      ["down", 500],
    ]);
  });

  it("is left out when both ends are beyond the same edge, or no row shows one of them", () => {
    expect(arrowPaths(scene, [arrow(at(0, 5000, 5100), at(1, 6000, 6100))])).toEqual([]);
    expect(arrowPaths(scene, [arrow(at(0, 100, 200), at(77, 500, 600))])).toEqual([]);
  });

  it("is clicked on the curve, and not beside it", () => {
    const one = arrow(at(0, 100, 200), at(3, 500, 600));
    const paths = arrowPaths(scene, [one]);
    expect(arrowAt(paths, 350, (10.5 + 79.5) / 2)).toBe(one);
    expect(arrowAt(paths, 350, 80)).toBeNull();
    expect(arrowAt([], 0, 0)).toBeNull();
  });
});

describe("labels", () => {
  const texts = (...arrows: TimelineArrow[]) =>
    arrowLabels(arrowPaths(scene, arrows)).map(({ text }) => text);

  it("are on the curve, or at the edge with the way there", () => {
    const from = at(0, 100, 200);
    expect(texts(arrow(from, at(1, 300, 400), { label: "backward" }))).toEqual(["backward"]);
    expect(texts(arrow(from, at(1, 3000, 3100), { label: "kernel" }))).toEqual(["kernel ▸"]);
    expect(texts(arrow(from, at(1, -300, -200), { label: "forward" }))).toEqual(["◂ forward"]);
    expect(texts(arrow(at(1, -300, -200), from))).toEqual(["◂"]);
  });

  it("are one for all that leave at the same place, with how many they are", () => {
    const from = at(0, 100, 200);
    const many = Array.from({ length: 6 }, (_, i) => arrow(from, at(1, 3000 + i, 3100)));
    expect(texts(...many)).toEqual(["6 ▸"]);
    expect(texts(...many.slice(1), arrow(from, at(1, 3000, 3100), { label: "kernel" }))).toEqual([
      "kernel +5 ▸",
    ]);
    expect(texts(arrow(from, at(9, 3000, 3100), { count: 40 }))).toEqual(["40 ▸"]);
  });
});

describe("labels of arrows", () => {
  it("cover no other: the first of those that would lie over each other is shown", () => {
    const at = (left: number, middle: number) => ({ left, middle, width: 100 });
    expect(apart([at(0, 50), at(60, 55), at(100, 50), at(60, 80)])).toEqual([
      at(0, 50),
      at(100, 50),
      at(60, 80),
    ]);
  });
});
