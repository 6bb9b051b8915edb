/**
 * Wishes for tiles, and how they become requests: a request asks for every block of a list in every
 * tile of a list, so wishes for the same tiles go together, within what the server answers at once.
 */
import { tileKey } from "./grid";
import type { SourceState } from "./sources";
import type { Shelf } from "./store";

/** What the server answers at once. */
export const MOST_BLOCKS = 64;
export const MOST_TILES = 16;

/** 0 in view, 1 beside it, 2 coarser, 3 for later: smaller comes first. */
export type Rank = 0 | 1 | 2 | 3;

export interface Wish {
  readonly source: SourceState;
  readonly shelf: Shelf;
  readonly level: number;
  readonly tile: number;
  readonly rank: Rank;
}

/** A request, and every wish that it grants. */
export interface Batch {
  readonly kind: "tiles" | "counters";
  readonly source: SourceState;
  readonly level: number;
  /** Rising. */
  readonly tiles: readonly number[];
  readonly wishes: readonly Wish[];
  readonly url: string;
}

/** Whether the tile came meanwhile. */
export const isGranted = ({ shelf, level, tile }: Wish): boolean =>
  shelf.tiles.has(tileKey(level, tile));

export const wishKey = ({ source, shelf, level, tile }: Wish): string =>
  `${source.id}/${shelf.type}/${shelf.subject}/${shelf.lane}/${level}/${tile}`;

/** The batch of the first wish, joined by those after it that one request can grant as well. */
export function nextBatch(wishes: readonly Wish[]): Batch | null {
  const [first] = wishes;
  if (first === undefined) {
    return null;
  }
  const alike = wishes.filter(
    (wish) =>
      wish.source === first.source &&
      wish.shelf.type === first.shelf.type &&
      wish.level === first.level &&
      wish.rank === first.rank,
  );
  const tilesOf = tilesByBlock(alike);
  const tiles = (tilesOf.get(blockOf(first)) ?? []).slice(0, MOST_TILES);
  const wanted = new Set(tiles);
  const blocks = [...tilesOf]
    .filter(([, theirs]) => tiles.every((tile) => theirs.includes(tile)))
    .map(([block]) => block);
  // The block of the first wish is among them even when there are more than can be asked for.
  const chosen = new Set([blockOf(first), ...blocks.slice(0, MOST_BLOCKS)].slice(0, MOST_BLOCKS));
  const granted = alike.filter((wish) => wanted.has(wish.tile) && chosen.has(blockOf(wish)));
  return {
    kind: first.shelf.type === "slices" ? "tiles" : "counters",
    source: first.source,
    level: first.level,
    tiles,
    wishes: granted,
    url: addressOf(first, tiles, [...chosen]),
  };
}

/** As the server names it: "3.16", or the number of a series. */
const blockOf = ({ shelf }: Wish): string =>
  shelf.type === "slices" ? `${shelf.subject}.${shelf.lane}` : `${shelf.subject}`;

function tilesByBlock(wishes: readonly Wish[]): Map<string, number[]> {
  const tiles = new Map<string, number[]>();
  for (const wish of wishes) {
    const block = blockOf(wish);
    const known = tiles.get(block);
    if (known === undefined) {
      tiles.set(block, [wish.tile]);
    } else if (!known.includes(wish.tile)) {
      known.push(wish.tile);
    }
  }
  for (const each of tiles.values()) {
    each.sort((a, b) => a - b);
  }
  return tiles;
}

function addressOf({ source, shelf, level }: Wish, tiles: number[], blocks: string[]): string {
  const { base, query, layout } = source.source;
  const place = `level=${level}&tiles=${ranges(tiles)}`;
  return shelf.type === "slices"
    ? `${base}tiles?${query}&${place}&blocks=${blocks.join(",")}&layout=${layout}`
    : `${base}counters?${query}&${place}&series=${blocks.join(",")}`;
}

/** `[1, 2, 3, 7]` → `1-3,7`. */
export function ranges(numbers: readonly number[]): string {
  const texts: string[] = [];
  for (let i = 0; i < numbers.length; ) {
    const first = numbers[i] as number;
    let last = first;
    while (numbers[i + 1] === last + 1) {
      i += 1;
      last += 1;
    }
    i += 1;
    texts.push(first === last ? `${first}` : `${first}-${last}`);
  }
  return texts.join(",");
}
