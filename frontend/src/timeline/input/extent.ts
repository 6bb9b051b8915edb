/**
 * From where to where a slice really goes, when the tile that shows it holds only a part of it: its
 * neighbours tell, or a coarser tile in which it is whole.
 */
import { SLICE_FLAGS, type SliceTile } from "../frame/slices";
import { bucketNs, tileAt, tileKey, tileNs } from "../tiles/grid";
import type { SliceTiles } from "../tiles/store";

export interface Extent {
  start: number;
  end: number;
  isStartKnown: boolean;
  isEndKnown: boolean;
}

/** Tiles looked at to each side. */
const MOST_NEIGHBOURS = 32;

export function extentOf(
  laneTiles: SliceTiles,
  tile: SliceTile,
  index: number,
  coarsest: number,
): Extent {
  const extent = extentIn(tile, index);
  const slice = tile.rect[index] as number;
  const lane = laneOf(tile, index);
  for (const [side, by] of [["isStartKnown", -1] as const, ["isEndKnown", 1] as const]) {
    for (let i = 1; i <= MOST_NEIGHBOURS && !extent[side]; i += 1) {
      const found = lookUp(laneTiles, tile.level, tile.tile + i * by, lane, slice);
      if (found === null) {
        break;
      }
      extend(extent, found);
    }
  }
  const middle = (extent.start + extent.end) / 2;
  for (let level = tile.level + 1; level <= coarsest; level += 1) {
    if (extent.isStartKnown && extent.isEndKnown) {
      break;
    }
    const found = lookUp(laneTiles, level, tileAt(level, middle), lane, slice);
    if (found !== null) {
      extend(extent, found);
    }
  }
  return extent;
}

function extentIn(tile: SliceTile, index: number): Extent {
  const begin = tile.tile * tileNs(tile.level);
  const bucket = bucketNs(tile.level);
  const flags = tile.rectFlags[index] as number;
  return {
    start: begin + (tile.x0[index] as number) * bucket,
    end: begin + (tile.x1[index] as number) * bucket,
    isStartKnown: (flags & SLICE_FLAGS.fromLeft) === 0,
    isEndKnown: (flags & SLICE_FLAGS.toRight) === 0,
  };
}

/** Takes over what another part of the slice knows better. */
function extend(extent: Extent, part: Extent): void {
  if (!extent.isStartKnown) {
    extent.start = part.isStartKnown ? part.start : Math.min(extent.start, part.start);
    extent.isStartKnown = part.isStartKnown;
  }
  if (!extent.isEndKnown) {
    extent.end = part.isEndKnown ? part.end : Math.max(extent.end, part.end);
    extent.isEndKnown = part.isEndKnown;
  }
}

function laneOf({ rectFirst, lanes }: SliceTile, index: number): number {
  let lane = 0;
  while (lane < lanes - 1 && (rectFirst[lane + 1] as number) <= index) {
    lane += 1;
  }
  return lane;
}

function lookUp(
  laneTiles: SliceTiles,
  level: number,
  tile: number,
  lane: number,
  slice: number,
): Extent | null {
  const found = laneTiles.tiles.get(tileKey(level, tile));
  if (found === undefined) {
    return null;
  }
  const end = found.rectFirst[lane + 1] ?? 0;
  for (let i = found.rectFirst[lane] ?? end; i < end; i += 1) {
    if (found.rect[i] === slice) {
      return extentIn(found, i);
    }
  }
  return null;
}
