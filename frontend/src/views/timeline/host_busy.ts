/**
 * How busy the threads of a host are over the whole trace, without the ranges that only say what
 * they hold: a step marked from its start to its end would make every host look busy throughout.
 *
 * It is read from the coarsest tiles of the threads, which tell the kind of each slice.
 */
import type { TimelineManifest } from "../../api/types.gen";
import { TILE_BUCKETS } from "../../timeline/frame/frame";
import type { SliceTile } from "../../timeline/frame/slices";
import { bucketNs, coarsestLevel, tileAt } from "../../timeline/tiles/grid";
import { KIND } from "./kinds";

/** Of more threads than this, the busiest stand for their process. */
const THREADS_MAX = 4;

/** Frames stand around their ops; in a layout of their own they are no part of the thread either. */
const NO_WORK = new Set<number>([KIND.annotation, KIND.range, KIND.python, KIND.module]);

export interface HostQuestion {
  readonly level: number;
  readonly tiles: string;
  readonly blocks: string;
  /** Columns that the answer fills. */
  readonly columns: number;
}

/** Which tiles to ask for; null where the trace has no thread. */
export function hostQuestion({ tracks, end_ns }: TimelineManifest): HostQuestion | null {
  const threads = tracks
    .map((track, index) => ({ track, index }))
    .filter(({ track }) => track.kind === "thread" && track.lanes > 0)
    .sort((a, b) => b.track.busy_ns - a.track.busy_ns)
    .slice(0, THREADS_MAX);
  if (threads.length === 0) {
    return null;
  }
  const level = Math.max(0, coarsestLevel(end_ns) - 1);
  const last = tileAt(level, end_ns);
  return {
    level,
    tiles: last === 0 ? "0" : `0-${last}`,
    blocks: threads.map(({ index }) => `${index}.0`).join(","),
    columns: Math.max(1, Math.ceil(end_ns / bucketNs(level))),
  };
}

/** Adds a span, in columns, to a lane: whole columns and parts of those at its ends. */
function addSpan(lane: Float32Array, from: number, to: number): void {
  const first = Math.max(0, Math.floor(from));
  const last = Math.min(lane.length, Math.ceil(to));
  for (let i = first; i < last; i += 1) {
    lane[i] = (lane[i] ?? 0) + Math.min(to, i + 1) - Math.max(from, i);
  }
}

/** Work of one lane of a tile. */
function laneWork(tile: SliceTile, lane: number, columns: number): Float32Array {
  const work = new Float32Array(columns);
  const left = tile.tile * TILE_BUCKETS;
  const [firstRect = 0, lastRect = 0] = tile.rectFirst.slice(lane, lane + 2);
  for (let i = firstRect; i < lastRect; i += 1) {
    if (!NO_WORK.has(tile.rectKind[i] ?? 0)) {
      addSpan(work, left + (tile.x0[i] ?? 0), left + (tile.x1[i] ?? 0));
    }
  }
  const [firstBucket = 0, lastBucket = 0] = tile.bucketFirst.slice(lane, lane + 2);
  for (let i = firstBucket; i < lastBucket; i += 1) {
    const column = left + (tile.x[i] ?? 0);
    if (!NO_WORK.has(tile.bucketKind[i] ?? 0) && column < columns) {
      work[column] = (work[column] ?? 0) + (tile.busy[i] ?? 0) / 255;
    }
  }
  return work;
}

/** By index of the group: the share of each column in which it is busy, 0 … 1. */
export type BusyGroups = ReadonlyMap<number, Float32Array>;

export function hostBusy(
  { tracks }: TimelineManifest,
  tiles: readonly SliceTile[],
  columns: number,
): BusyGroups {
  const groups = new Map<number, Float32Array>();
  for (const tile of tiles) {
    const group = tracks[tile.track]?.group;
    if (group !== undefined) {
      const busy = groups.get(group) ?? new Float32Array(columns);
      groups.set(group, busy);
      for (let lane = 0; lane < tile.lanes; lane += 1) {
        // What a slice holds lies within it: the lane that covers most covers all.
        laneWork(tile, lane, columns).forEach((work, i) => {
          busy[i] = Math.max(busy[i] ?? 0, Math.min(1, work));
        });
      }
    }
  }
  return groups;
}
