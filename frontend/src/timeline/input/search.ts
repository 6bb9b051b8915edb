/** What is at a place in a lane: binary search in the columns of one tile. */
import { firstAbove } from "../draw/lane";
import type { SliceTile } from "../frame/slices";

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
