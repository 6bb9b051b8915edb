/** Where rows and lanes are, from the top of the list of rows, in CSS px. */
import type { TimelineRow } from "../contract";

export const FULL_LANE = 18;
export const COMPACT_LANE = 6;
/** A track squeezed into one strip: so high, of so many rows of pixels, of no lane deeper than that. */
export const HEAT_STRIP = 24;
export const HEAT_ROWS = 12;
export const HEAT_LANES = 128;

/** Between a row's upper edge and its first lane, and below its last, line included. */
export const PAD_TOP = 2;
export const PAD_BOTTOM = 3;

/** A label of one line fits beside every track. */
const LEAST_TRACK = 18;

export type TrackRow = Extract<TimelineRow, { type: "track" }>;
export type CounterRow = Extract<TimelineRow, { type: "counter" }>;

/** How many lanes are drawn: those below the focus. */
export const lanesDrawn = (row: TrackRow): number => Math.max(0, row.lanes - row.firstLane);

/** How many of those are drawn full. */
function fullDrawn(row: TrackRow): number {
  return row.mode === "full" ? Math.min(lanesDrawn(row), Math.max(0, row.fullLanes)) : 0;
}

export function rowHeight(row: TimelineRow): number {
  if (row.type !== "track") {
    return row.height;
  }
  const lanes = row.mode === "heat" ? HEAT_STRIP : laneTop(row, row.firstLane + lanesDrawn(row));
  return Math.max(LEAST_TRACK, lanes + PAD_TOP + PAD_BOTTOM);
}

/** Upper edge of a lane of the track, from the upper edge of its first drawn lane. */
export function laneTop(row: TrackRow, lane: number): number {
  const place = lane - row.firstLane;
  if (row.mode === "heat") {
    return (place * HEAT_STRIP) / Math.max(1, lanesDrawn(row));
  }
  const full = fullDrawn(row);
  return Math.min(place, full) * FULL_LANE + Math.max(0, place - full) * COMPACT_LANE;
}

/** From one lane to the next, the gap included. */
export function lanePitch(row: TrackRow, lane: number): number {
  return laneTop(row, lane + 1) - laneTop(row, lane);
}

export const isFullLane = (row: TrackRow, lane: number): boolean =>
  lane - row.firstLane < fullDrawn(row);

/** The lane at `y` below the first lane's upper edge; null beside the lanes. */
export function laneAt(row: TrackRow, y: number): number | null {
  const count = lanesDrawn(row);
  if (y < 0 || y >= laneTop(row, row.firstLane + count)) {
    return null;
  }
  if (row.mode === "heat") {
    return row.firstLane + Math.floor((y / HEAT_STRIP) * count);
  }
  const full = fullDrawn(row);
  const place =
    y < full * FULL_LANE
      ? Math.floor(y / FULL_LANE)
      : full + Math.floor((y - full * FULL_LANE) / COMPACT_LANE);
  return row.firstLane + Math.min(place, count - 1);
}

/** Rows one below the other. */
export class RowStack {
  /** Upper edges, and behind them the height of all. */
  readonly tops: Float64Array;

  constructor(readonly rows: readonly TimelineRow[]) {
    this.tops = new Float64Array(rows.length + 1);
    rows.forEach((row, i) => {
      this.tops[i + 1] = this.top(i) + rowHeight(row);
    });
  }

  get height(): number {
    return this.top(this.rows.length);
  }

  top(index: number): number {
    return this.tops[index] ?? 0;
  }

  /** The row at `y`; −1 above the first, the number of rows below the last. */
  indexAt(y: number): number {
    if (y < 0) {
      return -1;
    }
    let low = 0;
    let high = this.rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.top(middle + 1) <= y) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  indexOf(key: string): number {
    return this.rows.findIndex((row) => row.key === key);
  }
}
