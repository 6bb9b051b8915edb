import { describe, expect, it } from "vitest";
import { cutBlock, fakeSource, random, randomTrace } from "../../../test-fixtures/fake_trace";
import { tilesFrame } from "../../../test-fixtures/frames";
import type { TimelineRow } from "../contract";
import type { Geometry } from "../draw/places";
import { decodeSliceTiles, type SliceTile } from "../frame/slices";
import { Plan } from "../rows/plan";
import { coarsestLevel, levelFor, tileAt } from "../tiles/grid";
import { SourceState } from "../tiles/sources";
import { TileStore } from "../tiles/store";
import { wheelAct } from "./gestures";
import { type Found, findInLane, hitAt } from "./hit";
import { snappedTime } from "./snap";

const decode = (block: Parameters<typeof tilesFrame>[0][number]): SliceTile =>
  decodeSliceTiles(tilesFrame([block]))[0] as SliceTile;

/** What `findInLane` finds, by looking at every record. */
function findSlowly(tile: SliceTile, lane: number, x: number, slop: number): Found | null {
  let best: Found | null = null;
  const consider = (type: Found["type"], index: number, left: number, right: number) => {
    const distance = Math.max(0, left - x, x - right);
    const isBetter =
      best === null ||
      distance < best.distance ||
      (distance === best.distance && type === "rect" && best.type === "bucket");
    if (distance <= slop && isBetter) {
      best = { type, index, distance };
    }
  };
  for (let i = tile.rectFirst[lane] ?? 0; i < (tile.rectFirst[lane + 1] ?? 0); i += 1) {
    consider("rect", i, tile.x0[i] ?? 0, tile.x1[i] ?? 0);
  }
  for (let i = tile.bucketFirst[lane] ?? 0; i < (tile.bucketFirst[lane + 1] ?? 0); i += 1) {
    consider("bucket", i, tile.x[i] ?? 0, (tile.x[i] ?? 0) + 1);
  }
  return best;
}

describe("looking up a place in a lane", () => {
  it("finds what looking at everything finds", () => {
    const next = random(3);
    for (let run = 0; run < 40; run += 1) {
      const trace = randomTrace(run, 4, 300, 2e5);
      const tile = decode(cutBlock(trace, 0, 0, 3 + (run % 6), 0));
      for (let i = 0; i < 200; i += 1) {
        const lane = Math.floor(next() * 4);
        const x = next() * 520 - 4;
        const slop = next() * 6;
        const found = findInLane(tile, lane, x, slop);
        const slowly = findSlowly(tile, lane, x, slop);
        expect(found?.distance).toBe(slowly?.distance);
        expect(found?.type).toBe(slowly?.type);
      }
    }
  });

  it("prefers the rectangle of two that are equally near", () => {
    const rect = { x0: 5, x1: 6, slice: 1, name: 0, kind: 0, flags: 0 };
    const bucket = { x: 5, count: 3, slice: 2, name: 0, kind: 0, busy: 9 };
    const block = { track: 0, lane: 0, level: 0, tile: 0, rects: [[rect]], buckets: [[bucket]] };
    expect(findInLane(decode(block), 0, 5.5, 3)?.type).toBe("rect");
    expect(findInLane(decode(block), 0, 9, 3)?.type).toBe("rect");
    expect(findInLane(decode(block), 0, 9.1, 3)).toBeNull();
    expect(findInLane(decode(block), 3, 5, 3)).toBeNull();
  });
});

/** One track, on screen from `start` at `nsPerPx`, all tiles of its level and the coarsest there. */
function scene(
  slices: readonly (readonly [ts: number, dur: number])[],
  start: number,
  nsPerPx: number,
) {
  const endNs = 1e6;
  const all = slices.map(([ts, dur], slice) => ({
    ts,
    dur,
    name: slice,
    kind: 3,
    flags: 0,
    slice,
  }));
  const trace = { tracks: [[all]], counters: [], names: slices.map((_, i) => `n${i}`), endNs };
  const store = new TileStore(1e9);
  const source = new SourceState(fakeSource(trace, { offset: 1e6 }));
  source.names.put({ first: 0, texts: trace.names });
  const coarsest = coarsestLevel(endNs);
  const level = levelFor(nsPerPx, coarsest);
  for (let tile = 0; tile <= tileAt(level, endNs); tile += 1) {
    store.put(0, decode(cutBlock(trace, 0, 0, level, tile)), 0);
  }
  store.put(0, decode(cutBlock(trace, 0, 0, coarsest, 0)), 0);
  const row: TimelineRow = {
    type: "track",
    key: "t",
    source: 0,
    track: 0,
    lanes: 1,
    fullLanes: 1,
    mode: "full",
    firstLane: 0,
  };
  const sources = new Map([[0, source]]);
  const made: Geometry = {
    pinned: new Plan([], sources, store),
    rows: new Plan([row], sources, store),
    camera: { start: start + 1e6, nsPerPx, scrollY: 0 },
    height: 300,
  };
  return made;
}

const Y = 10;

describe("what is below the pointer", () => {
  it("is a slice, with its name and its exact ends, on the axis of the view", () => {
    const hit = hitAt(scene([[1000, 555]], 0, 10), 120, Y);
    expect(hit).toMatchObject({ type: "slice", key: { source: 0, slice: 0 }, name: "n0", kind: 3 });
    expect(hit).toMatchObject({ start: 1e6 + 1000, end: 1e6 + 1555, lane: 0, row: "t" });
  });

  it("is a slice that goes through many tiles, whole", () => {
    const hit = hitAt(scene([[1000, 900_000]], 400_000, 4), 100, Y);
    expect(hit).toMatchObject({ type: "slice", start: 1e6 + 1000, end: 1e6 + 901_000 });
  });

  it("is a bucket of slices too short to be told apart", () => {
    const crowd = [0, 1, 2, 3].map((i) => [1024 + 100 * i, 10 + i] as const);
    const hit = hitAt(scene(crowd, 0, 1024), 1.5, Y);
    expect(hit).toMatchObject({ type: "bucket", count: 4, name: "n3", start: 1e6 + 1024 });
    expect(hit).toMatchObject({ end: 1e6 + 2048, busyRatio: expect.closeTo(46 / 1024, 2) });
  });

  it("is also what is three px beside it, and nothing farther away", () => {
    const made = scene([[1000, 1000]], 0, 10);
    expect(hitAt(made, 203, Y)).toMatchObject({ type: "slice" });
    expect(hitAt(made, 97.5, Y)).toMatchObject({ type: "slice" });
    expect(hitAt(made, 204, Y)).toBeNull();
  });

  it("is nothing beside the lanes and below the rows", () => {
    const made = scene([[1000, 1000]], 0, 10);
    expect(hitAt(made, 150, 22)).toBeNull();
    expect(hitAt(made, 150, 250)).toBeNull();
    expect(hitAt(made, 150, -5)).toBeNull();
  });
});

describe("a dragged edge", () => {
  const made = scene(
    [
      [1000, 1000],
      [3000, 500],
    ],
    0,
    10,
  );

  it("snaps to the nearest edge of a slice within 12 px", () => {
    expect(snappedTime(made, 109, Y)).toBe(1e6 + 1000);
    expect(snappedTime(made, 190, Y)).toBe(1e6 + 2000);
    expect(snappedTime(made, 210, Y)).toBe(1e6 + 2000);
    expect(snappedTime(made, 290, Y)).toBe(1e6 + 3000);
  });

  it("stays where it is when there is none, or no lane at all", () => {
    expect(snappedTime(made, 150, Y)).toBe(1e6 + 1500);
    expect(snappedTime(made, 250, Y)).toBe(1e6 + 2500);
    expect(snappedTime(made, 109, 200)).toBe(1e6 + 1090);
  });

  it("does not snap to where a tile ends", () => {
    const long = scene([[1000, 900_000]], 400_000, 4);
    const border = 512 * 4 * 200 - 400_000;
    expect(snappedTime(long, border / 4 + 2, Y)).toBe(1e6 + 400_000 + border + 8);
  });
});

const turn = {
  deltaX: 0,
  deltaY: 0,
  deltaMode: 0,
  ctrlKey: false,
  metaKey: false,
  shiftKey: false,
};

describe("the wheel", () => {
  it("scrolls, pans with Shift, zooms with Ctrl or Cmd", () => {
    expect(wheelAct({ ...turn, deltaY: 100 }, 500)).toMatchObject({ type: "move", dx: 0, dy: 100 });
    expect(wheelAct({ ...turn, deltaY: 100, shiftKey: true }, 500)).toMatchObject({
      dx: 100,
      dy: 0,
    });
    expect(wheelAct({ ...turn, deltaX: 7, deltaY: 3 }, 500)).toMatchObject({ dx: 7, dy: 3 });
    for (const key of ["ctrlKey", "metaKey"]) {
      const closer = wheelAct({ ...turn, deltaY: -100, [key]: true }, 500);
      expect(closer).toMatchObject({ type: "zoom", factor: expect.closeTo(0.756, 2) });
    }
  });

  it("counts lines and pages where the browser does", () => {
    expect(wheelAct({ ...turn, deltaY: 3, deltaMode: 1 }, 500)).toMatchObject({ dy: 54 });
    expect(wheelAct({ ...turn, deltaY: 1, deltaMode: 2 }, 500)).toMatchObject({ dy: 500 });
  });

  it("zooms back to where it was, and never wildly", () => {
    const act = (deltaY: number) => wheelAct({ ...turn, deltaY, ctrlKey: true }, 500);
    const [closer, away, wild] = [act(-3), act(3), act(1e6)];
    if (closer.type !== "zoom" || away.type !== "zoom" || wild.type !== "zoom") {
      throw new Error("not a zoom");
    }
    expect(closer.factor * away.factor).toBeCloseTo(1);
    expect(wild.factor).toBeLessThan(2.1);
  });
});
