/** Edges of slices that a dragged instant snaps to. */
import { firstAbove } from "../draw/lane";
import { type Geometry, rowAt } from "../draw/places";
import { LANE_BLOCK } from "../frame/frame";
import { SLICE_FLAGS, type SliceTile } from "../frame/slices";
import type { TrackPlan } from "../rows/plan";
import { cover, type Piece } from "../tiles/cover";
import { bucketNs, levelFor, tileNs } from "../tiles/grid";
import { lanesAt } from "./hit";

/** So near, in CSS px, an edge attracts. */
export const SNAP_PX = 12;

const pieces: Piece<SliceTile>[] = [];

/** The nearest edge of a slice in the lane at `y`, or the time at `x` itself. */
export function snappedTime(scene: Geometry, x: number, y: number): number {
  const { camera } = scene;
  const time = camera.start + x * camera.nsPerPx;
  const place = rowAt(scene, y);
  const plan = place?.plan.rows[place.index];
  if (place === null || plan?.type !== "track") {
    return time;
  }
  let best = time;
  let least = SNAP_PX * camera.nsPerPx;
  for (const lane of lanesAt(place, plan, y)) {
    const edge = nearestEdge(plan, lane, time, least, camera.nsPerPx);
    if (edge !== null && Math.abs(edge - time) <= least) {
      least = Math.abs(edge - time);
      best = edge;
    }
  }
  return best;
}

function nearestEdge(
  plan: TrackPlan,
  lane: number,
  time: number,
  reach: number,
  nsPerPx: number,
): number | null {
  const laneTiles = plan.shelves[Math.floor(lane / LANE_BLOCK)];
  if (laneTiles === undefined) {
    return null;
  }
  const { source, offset, coarsest } = plan.source;
  const at = time - offset;
  const start = Math.max(at - reach, source.startNs);
  const end = Math.min(at + reach, source.endNs + 1);
  cover(laneTiles, levelFor(nsPerPx, coarsest), coarsest, start, end, pieces);
  let best: number | null = null;
  for (const { tile } of pieces) {
    const edge = nearestEdgeIn(tile, lane % LANE_BLOCK, at);
    if (edge !== null) {
      best = nearer(best, edge, at);
    }
  }
  return best === null ? null : Math.round(best) + offset;
}

/** Of the rectangles around a place: only the two beside it can have the nearest edge. */
function nearestEdgeIn(tile: SliceTile, lane: number, time: number): number | null {
  const begin = tile.rectFirst[lane] ?? 0;
  const end = tile.rectFirst[lane + 1] ?? 0;
  const origin = tile.tile * tileNs(tile.level);
  const bucket = bucketNs(tile.level);
  const right = firstAbove(tile.x1, begin, end, (time - origin) / bucket);
  let best: number | null = null;
  for (let i = Math.max(begin, right - 1); i < Math.min(end, right + 2); i += 1) {
    const flags = tile.rectFlags[i] as number;
    // Where a slice goes on in the next tile is no edge.
    if ((flags & SLICE_FLAGS.fromLeft) === 0) {
      best = nearer(best, origin + (tile.x0[i] as number) * bucket, time);
    }
    if ((flags & SLICE_FLAGS.toRight) === 0) {
      best = nearer(best, origin + (tile.x1[i] as number) * bucket, time);
    }
  }
  return best;
}

const nearer = (best: number | null, edge: number, time: number): number =>
  best === null || Math.abs(edge - time) < Math.abs(best - time) ? edge : best;
