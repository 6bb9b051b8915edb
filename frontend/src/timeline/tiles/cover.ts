/**
 * Which tiles to draw for a stretch of time: those of the wanted level, and where one is missing
 * finer ones if they cover it, else the nearest coarser one. So nothing is blank while it loads.
 */
import { tileAt, tileKey, tileNs } from "./grid";
import type { AnyTile, LaneTiles } from "./store";

/** A tile, and the part of it that is to be drawn. Times of the trace, in ns. */
export interface Piece<T extends AnyTile> {
  tile: T;
  start: number;
  end: number;
}

/** How far below the wanted level finer tiles are looked for. */
const FINER_LEVELS = 3;

/**
 * The pieces that cover [start, end), in order of time, into `into` (which is emptied). What no tile
 * covers is left out.
 */
export function cover<T extends AnyTile>(
  laneTiles: LaneTiles<T>,
  level: number,
  coarsest: number,
  start: number,
  end: number,
  into: Piece<T>[],
): void {
  into.length = 0;
  const width = tileNs(level);
  const last = Math.ceil(end / width) - 1;
  for (let tile = tileAt(level, start); tile <= last; tile += 1) {
    const from = Math.max(start, tile * width);
    const to = Math.min(end, (tile + 1) * width);
    const exact = laneTiles.tiles.get(tileKey(level, tile));
    if (exact !== undefined) {
      into.push({ tile: exact, start: from, end: to });
    } else if (coversFinely(laneTiles, level, tile, FINER_LEVELS)) {
      pushFiner(laneTiles, level, tile, from, to, into);
    } else {
      pushCoarser(laneTiles, level, tile, coarsest, from, to, into);
    }
  }
}

function coversFinely<T extends AnyTile>(
  laneTiles: LaneTiles<T>,
  level: number,
  tile: number,
  depth: number,
): boolean {
  if (depth === 0 || level === 0) {
    return false;
  }
  for (let child = 2 * tile; child <= 2 * tile + 1; child += 1) {
    const isThere = laneTiles.tiles.has(tileKey(level - 1, child));
    if (!isThere && !coversFinely(laneTiles, level - 1, child, depth - 1)) {
      return false;
    }
  }
  return true;
}

function pushFiner<T extends AnyTile>(
  laneTiles: LaneTiles<T>,
  level: number,
  tile: number,
  start: number,
  end: number,
  into: Piece<T>[],
): void {
  const width = tileNs(level - 1);
  for (let child = 2 * tile; child <= 2 * tile + 1; child += 1) {
    const from = Math.max(start, child * width);
    const to = Math.min(end, (child + 1) * width);
    if (from < to) {
      const exact = laneTiles.tiles.get(tileKey(level - 1, child));
      if (exact !== undefined) {
        into.push({ tile: exact, start: from, end: to });
      } else {
        pushFiner(laneTiles, level - 1, child, from, to, into);
      }
    }
  }
}

function pushCoarser<T extends AnyTile>(
  laneTiles: LaneTiles<T>,
  level: number,
  tile: number,
  coarsest: number,
  start: number,
  end: number,
  into: Piece<T>[],
): void {
  let index = tile;
  for (let above = level + 1; above <= coarsest; above += 1) {
    index = Math.floor(index / 2);
    const found = laneTiles.tiles.get(tileKey(above, index));
    if (found !== undefined) {
      const before = into.at(-1);
      if (before?.tile === found && before.end === start) {
        before.end = end;
      } else {
        into.push({ tile: found, start, end });
      }
      return;
    }
  }
}
