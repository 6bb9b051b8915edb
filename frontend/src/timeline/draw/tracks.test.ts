import { describe, expect, it } from "vitest";
import {
  cutBlock,
  cutCounter,
  type FakeTrace,
  fakeSource,
  random,
  randomTrace,
} from "../../../test-fixtures/fake_trace";
import { countersFrame, tilesFrame } from "../../../test-fixtures/frames";
import { testPalette } from "../../../test-fixtures/palette";
import type { RowMode, TimelineRow } from "../contract";
import { decodeCounterTiles } from "../frame/counters";
import { decodeSliceTiles } from "../frame/slices";
import { Plan } from "../rows/plan";
import { coarsestLevel, levelFor, tileAt } from "../tiles/grid";
import { SourceState } from "../tiles/sources";
import { TileStore } from "../tiles/store";
import { Labels } from "./labels";
import { Marks } from "./marks";
import { type CounterPaint, makePaint } from "./paint";
import { paintCounter } from "./picture";
import { Strip } from "./strip";
import { Blits, paintTrack, type TrackPainter } from "./tracks";

const WIDTH = 300;

function painterOf(start: number, nsPerPx: number): TrackPainter {
  const strip = new Strip();
  strip.reset(WIDTH);
  return {
    scale: { start, nsPerPx, dpr: 1, width: WIDTH },
    strip,
    paint: makePaint(testPalette, (color) => color),
    labels: new Labels(),
    marks: new Marks(),
    blits: new Blits(),
    level: levelFor(nsPerPx, 54),
    start,
    end: start + WIDTH * nsPerPx,
    frame: 7,
  };
}

function planOf(trace: FakeTrace, row: TimelineRow, nsPerPx: number) {
  const store = new TileStore(1e9);
  const source = new SourceState(fakeSource(trace));
  const level = levelFor(nsPerPx, coarsestLevel(trace.endNs));
  for (let tile = 0; tile <= tileAt(level, trace.endNs); tile += 1) {
    const lanes = trace.tracks[0]?.length ?? 0;
    for (let lane = 0; lane < lanes; lane += 16) {
      for (const each of decodeSliceTiles(tilesFrame([cutBlock(trace, 0, lane, level, tile)]))) {
        store.put(0, each, 0);
      }
    }
    for (const each of decodeCounterTiles(countersFrame([cutCounter(trace, 0, level, tile)]))) {
      store.put(0, each, 0);
    }
  }
  const [plan] = new Plan([row], new Map([[0, source]]), store).rows;
  return { plan, store };
}

const blitsOf = ({ blits }: TrackPainter) =>
  Array.from({ length: blits.length }, (_, i) => [blits.top(i), blits.height(i)]);

describe("a track", () => {
  const trace = randomTrace(4, 40, 60, 1e6);
  const row = (mode: RowMode, more = {}): TimelineRow => ({
    type: "track",
    key: "t",
    source: 0,
    track: 0,
    lanes: 40,
    fullLanes: 2,
    mode,
    firstLane: 0,
    ...more,
  });

  function paint(mode: RowMode, from: number, to: number, more = {}) {
    const { plan, store } = planOf(trace, row(mode, more), 2000);
    const painter = painterOf(0, 2000);
    if (plan?.type !== "track") {
      throw new Error("no track");
    }
    paintTrack(painter, plan, 100, from, to);
    return { painter, store };
  }

  it("has full lanes with labels above compact ones without", () => {
    const { painter } = paint("full", 0, 1000);
    const blits = blitsOf(painter);
    expect(blits.slice(0, 4)).toEqual([
      [102, 17],
      [120, 17],
      [138, 5],
      [144, 5],
    ]);
    expect(blits).toHaveLength(40);
    expect(painter.labels.length).toBeGreaterThan(0);
    expect(paint("compact", 0, 1000).painter.labels.length).toBe(0);
  });

  it("is painted only where it is seen, from the tiles that this takes", () => {
    const { painter, store } = paint("compact", 210, 232);
    expect(blitsOf(painter).map(([top]) => top)).toEqual([210, 216, 222, 228]);
    const used = [0, 16, 32].map((lane) =>
      [...store.slices(0, 0, lane).tiles.values()].some((tile) => tile.used === 7),
    );
    expect(used).toEqual([false, true, false]);
  });

  it("begins at the lane in focus", () => {
    const { painter } = paint("full", 0, 1000, { firstLane: 38 });
    expect(blitsOf(painter)).toHaveLength(2);
  });

  it("squeezed into a strip shows something of every lane", () => {
    const { painter } = paint("heat", 0, 1000);
    const blits = blitsOf(painter);
    expect(blits).toHaveLength(12);
    expect(blits[0]?.[0]).toBe(102);
    expect(blits.reduce((sum, [, height]) => sum + (height ?? 0), 0)).toBe(24);
    for (let i = 0; i < 12; i += 1) {
      expect(painter.strip.high[i]).toBeGreaterThan(painter.strip.low[i] ?? 0);
    }
  });
});

describe("a counter", () => {
  const HEIGHT = 46;
  const row: TimelineRow = {
    type: "counter",
    key: "c",
    source: 0,
    series: 0,
    unit: "",
    low: 0,
    high: 40,
    tone: "memory",
    height: HEIGHT,
  };

  /** By column, the value at the top and at the end of line and band; null where there is none. */
  function lineOf(trace: FakeTrace, start: number, nsPerPx: number) {
    const { plan } = planOf(trace, row, nsPerPx);
    const painter = painterOf(start, nsPerPx);
    if (plan?.type !== "counter") {
      throw new Error("no counter");
    }
    paintCounter(painter, plan, 0);
    return Array.from({ length: WIDTH }, (_, column) => reachOf(painter, column));
  }

  function reachOf({ paint, strip }: TrackPainter, column: number): [number, number] | null {
    const rows = Array.from({ length: HEIGHT - 6 }, (_, y) => y);
    const values = rows
      .filter((y) => isLineOrBand(strip.pixels[y * WIDTH + column], paint.counters.memory))
      .map((y) => 39 - y);
    return values.length === 0 ? null : [Math.max(...values), Math.min(...values)];
  }

  const isLineOrBand = (pixel: number | undefined, { line, band }: CounterPaint) =>
    pixel === line || pixel === band;

  const counting = (samples: readonly (readonly [number, number])[]): FakeTrace => ({
    tracks: [],
    counters: [samples.map(([ts, value]) => ({ ts, value }))],
    names: [],
    endNs: 300_000,
  });

  it("holds its value until the next one, and begins where it was first known", () => {
    const line = lineOf(
      counting([
        [50_000, 10],
        [150_000, 30],
      ]),
      0,
      1024,
    );
    expect(line[47]).toBeNull();
    expect(line[60]).toEqual([10, 10].map((value) => Math.round((value * 39) / 40)));
    expect(line[200]).toEqual([30, 30].map((value) => Math.round((value * 39) / 40)));
    expect(line[146]).toEqual([29, 10]);
  });

  it("draws the line through the mean where a column holds more than one value", () => {
    const { plan } = planOf(
      counting([0, 40, 0, 40].map((value, i) => [1024 + i, value])),
      row,
      1024,
    );
    const painter = painterOf(0, 1024);
    if (plan?.type !== "counter") {
      throw new Error("no counter");
    }
    paintCounter(painter, plan, 0);
    const { line, band } = painter.paint.counters.memory;
    const column = Array.from({ length: 40 }, (_, y) => painter.strip.pixels[y * WIDTH + 1]);
    expect(column[0]).toBe(band);
    expect(column[39]).toBe(band);
    expect(column.indexOf(line)).toBe(20);
    expect(column.filter((pixel) => pixel === line)).toHaveLength(1);
  });

  it.each([256, 500, 1024, 2500, 2 ** 13, 2 ** 16])("shows every peak at %d ns per px", (scale) => {
    const next = random(scale);
    const samples: [number, number][] = [];
    for (let ts = 0; ts < Math.min(300_000, WIDTH * scale); ts += 1 + Math.floor(next() * 500)) {
      samples.push([ts, next() < 0.01 ? 40 : Math.floor(next() * 10)]);
    }
    const line = lineOf(counting(samples), 0, scale);
    for (const [ts, value] of samples) {
      // A bucket is drawn where it begins, which may be in the column before.
      const column = Math.floor(ts / scale);
      const highest = Math.max(line[column]?.[0] ?? -1, line[column - 1]?.[0] ?? -1);
      expect(highest).toBeGreaterThanOrEqual(Math.floor((value * 39) / 40));
    }
  });
});
