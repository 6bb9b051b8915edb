/** A trace in memory that answers the timeline's requests, each tile cut by looking at every slice. */
import type { TimelineSource } from "../src/timeline/contract";
import {
  type BlockRecords,
  type CounterRecords,
  countersFrame,
  namesFrame,
  tilesFrame,
} from "./frames";

export interface FakeSlice {
  readonly ts: number;
  readonly dur: number;
  readonly name: number;
  readonly kind: number;
  readonly flags: number;
  readonly slice: number;
}

export interface FakeTrace {
  /** By track, by lane; slices of a lane do not overlap and are in order of time. */
  readonly tracks: readonly (readonly (readonly FakeSlice[])[])[];
  readonly counters: readonly (readonly { readonly ts: number; readonly value: number }[])[];
  readonly names: readonly string[];
  readonly endNs: number;
}

const TILE = 512;
const FROM_LEFT = 16;
const TO_RIGHT = 32;

export function cutBlock(
  { tracks }: FakeTrace,
  track: number,
  lane: number,
  level: number,
  tile: number,
): BlockRecords {
  const width = 2 ** level;
  const start = tile * TILE * width;
  const end = start + TILE * width;
  const lanes = (tracks[track] ?? []).slice(lane, lane + 16);
  let slices = 0;
  let sumNs = 0;
  const rects = lanes.map((all) =>
    all
      .filter(({ ts, dur }) => dur >= width && ts < end && ts + dur > start)
      .map(({ ts, dur, name, kind, flags, slice }) => ({
        x0: Math.max(0, (ts - start) / width),
        x1: Math.min(TILE, (ts + dur - start) / width),
        name,
        kind,
        slice,
        flags: flags | (ts < start ? FROM_LEFT : 0) | (ts + dur > end ? TO_RIGHT : 0),
      })),
  );
  const buckets = lanes.map((all) => {
    const byPlace = new Map<number, FakeSlice[]>();
    for (const each of all) {
      if (each.ts >= start && each.ts < end) {
        slices += 1;
        sumNs += each.dur;
        if (each.dur < width) {
          const x = Math.floor((each.ts - start) / width);
          byPlace.set(x, [...(byPlace.get(x) ?? []), each]);
        }
      }
    }
    return [...byPlace].map(([x, them]) => {
      const longest = them.reduce((a, b) => (b.dur > a.dur ? b : a));
      const sum = them.reduce((total, { dur }) => total + dur, 0);
      const busy = Math.min(255, Math.round((255 * sum) / width));
      const { name, kind, slice } = longest;
      return { x, count: them.length, name, kind, slice, busy };
    });
  });
  return { track, lane, level, tile, rects, buckets, slices, sumNs };
}

export function cutCounter(
  { counters }: FakeTrace,
  series: number,
  level: number,
  tile: number,
): CounterRecords {
  const width = 2 ** level;
  const start = tile * TILE * width;
  const samples = counters[series] ?? [];
  const before = samples.filter(({ ts }) => ts < start).at(-1)?.value ?? Number.NaN;
  const byPlace = new Map<number, number[]>();
  for (const { ts, value } of samples) {
    if (ts >= start && ts < start + TILE * width) {
      const x = Math.floor((ts - start) / width);
      byPlace.set(x, [...(byPlace.get(x) ?? []), value]);
    }
  }
  const points = [...byPlace].map(([x, values]) => ({
    x,
    low: Math.min(...values),
    high: Math.max(...values),
    last: values.at(-1) ?? 0,
    mean: values.reduce((a, b) => a + b, 0) / values.length,
  }));
  return { series, level, tile, before, points };
}

const numbers = (text: string | null): number[] =>
  (text ?? "").split(",").flatMap((part) => {
    const [first = 0, last = first] = part.split("-").map(Number);
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  });

/** Answers as the server does. */
export function answer(trace: FakeTrace, url: string): ArrayBuffer {
  const { pathname, searchParams } = new URL(url);
  const level = Number(searchParams.get("level"));
  const tiles = numbers(searchParams.get("tiles"));
  if (pathname.endsWith("/names")) {
    const first = Number(searchParams.get("first"));
    return namesFrame(first, trace.names.slice(first, first + Number(searchParams.get("count"))));
  }
  if (pathname.endsWith("/counters")) {
    const series = numbers(searchParams.get("series"));
    return countersFrame(
      tiles.flatMap((tile) => series.map((each) => cutCounter(trace, each, level, tile))),
    );
  }
  const blocks = (searchParams.get("blocks") ?? "").split(",").map((each) => each.split("."));
  return tilesFrame(
    tiles.flatMap((tile) =>
      blocks.map(([track, lane]) => cutBlock(trace, Number(track), Number(lane), level, tile)),
    ),
  );
}

export function fakeSource(trace: FakeTrace, more: Partial<TimelineSource> = {}): TimelineSource {
  return {
    source: 0,
    base: "http://127.0.0.1/api/view/timeline/",
    query: "run=r&worker=w&span=s&digest=d",
    layout: "split",
    offset: 0,
    startNs: 0,
    endNs: trace.endNs,
    nameCount: trace.names.length,
    ...more,
  };
}

/** Numbers that look random and are the same in every run. */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Lanes of slices without overlap; some lanes are crowded, some almost empty. */
export function randomTrace(
  seed: number,
  lanes: number,
  slicesPerLane: number,
  endNs: number,
): FakeTrace {
  const next = random(seed);
  let slice = 0;
  const oneLane = (): FakeSlice[] => {
    const found: FakeSlice[] = [];
    let ts = Math.floor(next() * 1000);
    for (let i = 0; i < slicesPerLane && ts < endNs; i += 1) {
      const dur = Math.floor(((next() ** 6 * endNs) / slicesPerLane) * 4);
      if (ts + dur > endNs) {
        break;
      }
      const kind = Math.floor(next() * 16);
      const flags = next() < 0.02 ? 1 : 0;
      found.push({ ts, dur, name: Math.floor(next() * 40), kind, flags, slice });
      slice += 1;
      ts += dur + Math.floor((next() ** 4 * endNs) / slicesPerLane);
    }
    return found;
  };
  const track = Array.from({ length: lanes }, oneLane);
  const names = Array.from({ length: 40 }, (_, i) => `aten::op_${i}`);
  return { tracks: [track], counters: [], names, endNs };
}
