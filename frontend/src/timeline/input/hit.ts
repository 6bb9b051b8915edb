import type { Hit } from "../contract";
import { firstAbove } from "../draw/lane";
import { type Geometry, type RowPlace, rowAt } from "../draw/places";
import type { CounterTile } from "../frame/counters";
import { LANE_BLOCK } from "../frame/frame";
import type { SliceTile } from "../frame/slices";
import { HEAT_ROWS, HEAT_STRIP, laneAt, lanesDrawn, PAD_TOP } from "../rows/layout";
import type { CounterPlan, TrackPlan } from "../rows/plan";
import { cover, type Piece } from "../tiles/cover";
import { bucketNs, levelFor, tileNs } from "../tiles/grid";
import type { SliceTiles } from "../tiles/store";
import { extentOf } from "./extent";

/** What is at a place in a lane: binary search in the columns of one tile. */

/** A record of a tile: an index into its rectangles or its buckets, and how far away it is. */
export interface Found {
  readonly type: "rect" | "bucket";
  readonly index: number;
  /** In buckets; 0 = at the place itself. */
  readonly distance: number;
}

/**
 * The record nearest to `x` (in buckets) in a lane of the block, not farther than `slop`. Of two that
 * are equally near, the rectangle.
 */
export function findInLane(tile: SliceTile, lane: number, x: number, slop: number): Found | null {
  const rect = nearestRect(tile, lane, x);
  const bucket = nearestBucket(tile, lane, x);
  const nearer =
    rect !== null && (bucket === null || rect.distance <= bucket.distance) ? rect : bucket;
  return nearer !== null && nearer.distance <= slop ? nearer : null;
}

function nearestRect({ rectFirst, x0, x1 }: SliceTile, lane: number, x: number): Found | null {
  const begin = rectFirst[lane] ?? 0;
  const end = rectFirst[lane + 1] ?? 0;
  const right = firstAbove(x1, begin, end, x);
  const toRight = right < end ? Math.max(0, (x0[right] as number) - x) : Number.POSITIVE_INFINITY;
  const toLeft = right > begin ? x - (x1[right - 1] as number) : Number.POSITIVE_INFINITY;
  return nearest("rect", right, toRight, toLeft);
}

function nearestBucket(tile: SliceTile, lane: number, at: number): Found | null {
  const { bucketFirst, x } = tile;
  const begin = bucketFirst[lane] ?? 0;
  const end = bucketFirst[lane + 1] ?? 0;
  // Buckets end one further on: the first whose end is right of the place.
  const right = firstAbove(x, begin, end, at - 1);
  const toRight = right < end ? Math.max(0, (x[right] as number) - at) : Number.POSITIVE_INFINITY;
  const toLeft = right > begin ? at - (x[right - 1] as number) - 1 : Number.POSITIVE_INFINITY;
  return nearest("bucket", right, toRight, toLeft);
}

/** Of the record at `right` and the one before it. */
function nearest(
  type: Found["type"],
  right: number,
  toRight: number,
  toLeft: number,
): Found | null {
  if (!Number.isFinite(Math.min(toRight, toLeft))) {
    return null;
  }
  return toRight <= toLeft
    ? { type, index: right, distance: toRight }
    : { type, index: right - 1, distance: toLeft };
}

/** What is below the pointer, from the tiles that are drawn there. */

/** So far beside it, in CSS px, a slice is still meant. */
export const SLOP_PX = 3;

export function hitAt(scene: Geometry, x: number, y: number): Hit | null {
  const place = rowAt(scene, y);
  const plan = place?.plan.rows[place.index];
  if (plan?.type === "counter") {
    return hitCounter(scene, plan, x);
  }
  return place !== null && plan?.type === "track" ? hitTrack(scene, place, plan, x, y) : null;
}

/** The lanes that share the pixels at `y`: one, except in a heat strip. */
export function lanesAt(place: RowPlace, plan: TrackPlan, y: number): number[] {
  const within = y - place.top - PAD_TOP;
  const lane = laneAt(plan.row, within);
  if (lane === null) {
    return [];
  }
  const count = lanesDrawn(plan.row);
  if (plan.row.mode !== "heat" || count <= HEAT_ROWS) {
    return [lane];
  }
  const strip = Math.floor((within / HEAT_STRIP) * HEAT_ROWS);
  const lanes: number[] = [];
  for (let i = 0; i < count; i += 1) {
    if (Math.floor((i * HEAT_ROWS) / count) === strip) {
      lanes.push(plan.row.firstLane + i);
    }
  }
  return lanes;
}

interface Candidate {
  readonly laneTiles: SliceTiles;
  readonly tile: SliceTile;
  readonly lane: number;
  readonly found: Found;
  readonly distancePx: number;
}

function hitTrack(
  scene: Geometry,
  place: RowPlace,
  plan: TrackPlan,
  x: number,
  y: number,
): Hit | null {
  let best: Candidate | null = null;
  for (const lane of lanesAt(place, plan, y)) {
    const candidate = nearestInLane(scene, plan, lane, x);
    if (candidate !== null && (best === null || candidate.distancePx < best.distancePx)) {
      best = candidate;
    }
  }
  return best === null ? null : describe(plan, best);
}

const pieces: Piece<SliceTile>[] = [];

function nearestInLane(
  scene: Geometry,
  plan: TrackPlan,
  lane: number,
  x: number,
): Candidate | null {
  const laneTiles = plan.shelves[Math.floor(lane / LANE_BLOCK)];
  if (laneTiles === undefined) {
    return null;
  }
  const { camera } = scene;
  const { source, offset, coarsest } = plan.source;
  const time = camera.start + x * camera.nsPerPx - offset;
  const slop = SLOP_PX * camera.nsPerPx;
  const start = Math.max(time - slop, source.startNs);
  const end = Math.min(time + slop, source.endNs + 1);
  cover(laneTiles, levelFor(camera.nsPerPx, coarsest), coarsest, start, end, pieces);
  let best: Candidate | null = null;
  for (const { tile } of pieces) {
    const bucket = bucketNs(tile.level);
    const within = lane % LANE_BLOCK;
    if (within < tile.lanes) {
      const at = (time - tile.tile * tileNs(tile.level)) / bucket;
      const found = findInLane(tile, within, at, slop / bucket);
      const distancePx = ((found?.distance ?? 0) * bucket) / camera.nsPerPx;
      if (found !== null && (best === null || distancePx < best.distancePx)) {
        best = { laneTiles, tile, lane, found, distancePx };
      }
    }
  }
  return best;
}

function describe(plan: TrackPlan, { laneTiles, tile, lane, found }: Candidate): Hit {
  const { source } = plan;
  const i = found.index;
  const place = { row: plan.row.key, lane };
  if (found.type === "rect") {
    const { start, end } = extentOf(laneTiles, tile, i, source.coarsest);
    return {
      type: "slice",
      key: { source: source.id, slice: tile.rect[i] as number },
      ...place,
      name: source.names.text(tile.rectName[i] as number),
      kind: tile.rectKind[i] as number,
      start: Math.round(start) + source.offset,
      end: Math.round(end) + source.offset,
      flags: tile.rectFlags[i] as number,
    };
  }
  const start = tile.tile * tileNs(tile.level) + (tile.x[i] as number) * bucketNs(tile.level);
  return {
    type: "bucket",
    key: { source: source.id, slice: tile.longest[i] as number },
    ...place,
    name: source.names.text(tile.bucketName[i] as number),
    kind: tile.bucketKind[i] as number,
    start: start + source.offset,
    end: start + bucketNs(tile.level) + source.offset,
    count: tile.count[i] as number,
    busyRatio: (tile.busy[i] as number) / 255,
  };
}

const counterPieces: Piece<CounterTile>[] = [];

function hitCounter({ camera }: Geometry, plan: CounterPlan, x: number): Hit | null {
  const { source, offset, coarsest } = plan.source;
  const time = camera.start + x * camera.nsPerPx - offset;
  if (time < source.startNs || time > source.endNs) {
    return null;
  }
  const level = levelFor(camera.nsPerPx, coarsest);
  cover(plan.laneTiles, level, coarsest, time, time + 1, counterPieces);
  const [piece] = counterPieces;
  if (piece === undefined) {
    return null;
  }
  const { tile } = piece;
  const bucket = bucketNs(tile.level);
  const at = (time - tile.tile * tileNs(tile.level)) / bucket;
  let i = -1;
  while (i + 1 < tile.x.length && (tile.x[i + 1] as number) <= at) {
    i += 1;
  }
  const row = plan.row.key;
  if (i < 0) {
    const { before } = tile;
    return Number.isFinite(before)
      ? { type: "counter", row, low: before, high: before, last: before }
      : null;
  }
  const isInside = (tile.x[i] as number) + 1 > at;
  const last = tile.last[i] as number;
  return {
    type: "counter",
    row,
    low: isInside ? (tile.low[i] as number) : last,
    high: isInside ? (tile.high[i] as number) : last,
    last,
  };
}
