/** Which tiles a view needs and does not have, the most urgent first. */
import { LANE_BLOCK } from "../frame/frame";
import { HEAT_LANES, lanesDrawn, laneTop, PAD_TOP, type TrackRow } from "../rows/layout";
import type { Plan, RowPlan, TrackPlan } from "../rows/plan";
import type { Rank, TileRequest } from "./batches";
import { levelFor, storedTile, tileAt, tileKey } from "./grid";
import type { SourceState } from "./sources";
import type { LaneTiles } from "./store";

/** What is looked at: times on the axis of the view, and the rows of each part of the canvas. */
export interface RequestView {
  readonly start: number;
  readonly end: number;
  readonly nsPerPx: number;
  readonly parts: readonly RequestPart[];
}

export interface RequestPart {
  readonly plan: Plan;
  /** The visible part, from the top of the first row, in CSS px. */
  readonly from: number;
  readonly to: number;
}

/** Beyond these many tileRequests of a rank the rest waits for the next frame. */
const MOST_WISHES = 2048;
/** So many lane blocks are kept ready at the coarsest level. */
const MOST_AROUND = 192;
/** So far above and below the view lanes are fetched ahead, in CSS px. */
const AHEAD_PX = 300;

interface Seen {
  readonly source: SourceState;
  readonly laneTiles: LaneTiles;
}

export function requestsFor(view: RequestView): TileRequest[] {
  const inView = view.parts.flatMap((part) => shelvesWithin(part, 0));
  const near = view.parts.flatMap((part) => shelvesWithin(part, AHEAD_PX));
  const tileRequests: TileRequest[] = [];
  for (const seen of inView) {
    addRange(tileRequests, view, seen, 0, 0, 0);
  }
  for (const seen of inView) {
    addCoarsest(tileRequests, seen, 1);
  }
  for (const seen of inView) {
    addRange(tileRequests, view, seen, 0, 1, 1);
  }
  for (const seen of near) {
    addRange(tileRequests, view, seen, 0, 0, 1);
  }
  for (const seen of inView) {
    addRange(tileRequests, view, seen, 1, 0, 2);
  }
  for (const part of view.parts) {
    for (const seen of shelvesAround(part)) {
      addCoarsest(tileRequests, seen, 3);
    }
  }
  return withoutRepeats(tileRequests);
}

/** Tiles of a level, `up` levels above the one to be drawn, and so many beside the view. */
function addRange(
  tileRequests: TileRequest[],
  view: RequestView,
  { source, laneTiles }: Seen,
  up: number,
  beside: number,
  rank: Rank,
): void {
  const level = Math.min(source.coarsest, levelFor(view.nsPerPx, source.coarsest) + up);
  const { startNs, endNs } = source.source;
  const first = Math.max(
    tileAt(level, view.start - source.offset) - beside,
    tileAt(level, startNs),
  );
  const last = Math.min(tileAt(level, view.end - source.offset) + beside, tileAt(level, endNs));
  for (let tile = first; tile <= last; tile += 1) {
    add(tileRequests, source, laneTiles, ...storedTile(level, tile), rank);
  }
}

/** The level of which one tile is all: what stands in for everything else. */
function addCoarsest(tileRequests: TileRequest[], { source, laneTiles }: Seen, rank: Rank): void {
  const { startNs, endNs } = source.source;
  const last = tileAt(source.coarsest, endNs);
  for (let tile = tileAt(source.coarsest, startNs); tile <= last; tile += 1) {
    add(tileRequests, source, laneTiles, source.coarsest, tile, rank);
  }
}

function add(
  tileRequests: TileRequest[],
  source: SourceState,
  laneTiles: LaneTiles,
  level: number,
  tile: number,
  rank: Rank,
): void {
  if (tileRequests.length < MOST_WISHES && !laneTiles.tiles.has(tileKey(level, tile))) {
    tileRequests.push({ source, laneTiles, level, tile, rank });
  }
}

function withoutRepeats(tileRequests: readonly TileRequest[]): TileRequest[] {
  const seen = new Map<object, Set<number>>();
  return tileRequests.filter(({ laneTiles, level, tile }) => {
    const keys = seen.get(laneTiles) ?? new Set();
    seen.set(laneTiles, keys);
    const key = tileKey(level, tile);
    return keys.has(key) ? false : keys.add(key);
  });
}

function allShelves(row: RowPlan | undefined): Seen[] {
  if (row?.type === "counter") {
    return [{ source: row.source, laneTiles: row.laneTiles }];
  }
  return row?.type === "track" ? blocksBetween(row, row.row.firstLane, row.row.lanes) : [];
}

/** All lane blocks of the rows around the visible ones, the nearest first. */
function shelvesAround({ plan, from, to }: RequestPart): Seen[] {
  const found: Seen[] = [];
  let above = plan.stack.indexAt((from + to) / 2);
  let below = above + 1;
  while (found.length < MOST_AROUND && (above >= 0 || below < plan.rows.length)) {
    found.push(...allShelves(plan.rows[above]), ...allShelves(plan.rows[below]));
    above -= 1;
    below += 1;
  }
  return found;
}

function shelvesWithin({ plan, from, to }: RequestPart, ahead: number): Seen[] {
  const found: Seen[] = [];
  const begin = Math.max(0, plan.stack.indexAt(from - ahead));
  for (let i = begin; i < plan.rows.length && plan.stack.top(i) < to + ahead; i += 1) {
    const row = plan.rows[i];
    if (row?.type === "track") {
      const top = plan.stack.top(i) + PAD_TOP;
      found.push(...blocksWithin(row, from - ahead - top, to + ahead - top));
    } else {
      found.push(...allShelves(row));
    }
  }
  return found;
}

/** The lane blocks that reach into [from, to), in px from the upper edge of the first lane. */
function blocksWithin(plan: TrackPlan, from: number, to: number): Seen[] {
  const { row } = plan;
  const end = row.firstLane + lanesDrawn(row);
  if (row.mode === "heat") {
    return blocksBetween(plan, row.firstLane, Math.min(end, row.firstLane + HEAT_LANES));
  }
  return blocksBetween(plan, laneBelow(row, from), Math.min(end, laneBelow(row, to) + 1));
}

/** The drawn lane at `y`, or the nearest one. */
function laneBelow(row: TrackRow, y: number): number {
  let low = row.firstLane;
  let high = Math.max(low, row.firstLane + lanesDrawn(row) - 1);
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (laneTop(row, middle) <= y) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

function blocksBetween(plan: TrackPlan, lane: number, end: number): Seen[] {
  const found: Seen[] = [];
  for (let block = Math.floor(lane / LANE_BLOCK); block * LANE_BLOCK < end; block += 1) {
    const laneTiles = plan.shelves[block];
    if (laneTiles !== undefined) {
      found.push({ source: plan.source, laneTiles });
    }
  }
  return found;
}
