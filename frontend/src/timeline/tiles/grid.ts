/**
 * Levels and tiles. Level k has buckets of 2^k ns; tile i of it covers [i·2^(k+9), (i+1)·2^(k+9)).
 *
 * All numbers are doubles, which are exact here: powers of two, and times below 2^53 ns.
 */
import { type StoredLevels, storedLevels } from "../../api/stored";
import { TILE_BUCKETS } from "../frame/frame";

export const MAX_LEVEL = 54;

export const bucketNs = (level: number): number => 2 ** level;
export const tileNs = (level: number): number => TILE_BUCKETS * 2 ** level;
export const tileAt = (level: number, ns: number): number => Math.floor(ns / tileNs(level));

/** The level whose buckets are between half a CSS px and a whole one wide, as far as there is one. */
export function levelFor(nsPerPx: number, coarsest: number): number {
  const level = Math.floor(Math.log2(nsPerPx));
  return Math.min(coarsest, Math.max(storedLevels.inRanges, level));
}

/** The tile that is there in place of one: in a report a coarser one, outside the ranges it holds. */
export function storedTile(
  level: number,
  tile: number,
  { everywhere, ranges }: StoredLevels = storedLevels,
): readonly [level: number, tile: number] {
  const isStored =
    level >= everywhere ||
    ranges.some(([start, end]) => tile >= tileAt(level, start) && tile <= tileAt(level, end));
  return isStored ? [level, tile] : [everywhere, Math.floor(tile / 2 ** (everywhere - level))];
}

/** The finest level at which one tile holds a whole trace that ends at `endNs`. */
export function coarsestLevel(endNs: number): number {
  let level = 0;
  while (level < MAX_LEVEL && tileNs(level) <= endNs) {
    level += 1;
  }
  return level;
}

/** One number for a level and a tile of it: below 2^53 for every tile that a trace can have. */
export const tileKey = (level: number, tile: number): number => tile * 64 + level;
