/**
 * TileRequests for tiles, and how they become requests: a request asks for every block of a list in every
 * tile of a list, so tileRequests for the same tiles go together, within what the server answers at once.
 */
import { toRanges } from "../../base/steps";
import { tileKey } from "./grid";
import type { SourceState } from "./sources";
import type { LaneTiles } from "./store";

/** What the server answers at once. */
export const MOST_BLOCKS = 64;
export const MOST_TILES = 16;

/** 0 in view, 1 beside it, 2 coarser, 3 for later: smaller comes first. */
export type Rank = 0 | 1 | 2 | 3;

export interface TileRequest {
  readonly source: SourceState;
  readonly laneTiles: LaneTiles;
  readonly level: number;
  readonly tile: number;
  readonly rank: Rank;
}

/** A request, and every tileRequest that it grants. */
export interface Batch {
  readonly kind: "tiles" | "counters";
  readonly source: SourceState;
  /** Rising. */
  readonly tiles: readonly number[];
  readonly tileRequests: readonly TileRequest[];
  readonly url: string;
}

/** Whether the tile came meanwhile. */
export const isGranted = ({ laneTiles, level, tile }: TileRequest): boolean =>
  laneTiles.tiles.has(tileKey(level, tile));

export const requestKey = ({ source, laneTiles, level, tile }: TileRequest): string =>
  `${source.id}/${laneTiles.type}/${laneTiles.subject}/${laneTiles.lane}/${level}/${tile}`;

/** The batch of the first tileRequest, joined by those after it that one request can grant as well. */
export function nextBatch(tileRequests: readonly TileRequest[]): Batch | null {
  const [first] = tileRequests;
  if (first === undefined) {
    return null;
  }
  const alike = tileRequests.filter(
    (tileRequest) =>
      tileRequest.source === first.source &&
      tileRequest.laneTiles.type === first.laneTiles.type &&
      tileRequest.level === first.level &&
      tileRequest.rank === first.rank,
  );
  const tilesOf = tilesByBlock(alike);
  const tiles = (tilesOf.get(blockOf(first)) ?? []).slice(0, MOST_TILES);
  const wanted = new Set(tiles);
  const blocks = [...tilesOf]
    .filter(([, theirs]) => tiles.every((tile) => theirs.includes(tile)))
    .map(([block]) => block);
  // The block of the first tileRequest is among them even when there are more than can be asked for.
  const chosen = new Set([blockOf(first), ...blocks.slice(0, MOST_BLOCKS)].slice(0, MOST_BLOCKS));
  const granted = alike.filter(
    (tileRequest) => wanted.has(tileRequest.tile) && chosen.has(blockOf(tileRequest)),
  );
  return {
    kind: first.laneTiles.type === "slices" ? "tiles" : "counters",
    source: first.source,
    tiles,
    tileRequests: granted,
    url: addressOf(first, tiles, [...chosen]),
  };
}

/** As the server names it: "3.16", or the number of a series. */
const blockOf = ({ laneTiles }: TileRequest): string =>
  laneTiles.type === "slices" ? `${laneTiles.subject}.${laneTiles.lane}` : `${laneTiles.subject}`;

function tilesByBlock(tileRequests: readonly TileRequest[]): Map<string, number[]> {
  const tiles = new Map<string, number[]>();
  for (const tileRequest of tileRequests) {
    const block = blockOf(tileRequest);
    const known = tiles.get(block);
    if (known === undefined) {
      tiles.set(block, [tileRequest.tile]);
    } else if (!known.includes(tileRequest.tile)) {
      known.push(tileRequest.tile);
    }
  }
  for (const each of tiles.values()) {
    each.sort((a, b) => a - b);
  }
  return tiles;
}

function addressOf(
  { source, laneTiles, level }: TileRequest,
  tiles: number[],
  blocks: string[],
): string {
  const { base, query, layout } = source.source;
  const place = `level=${level}&tiles=${toRanges(tiles)}`;
  return laneTiles.type === "slices"
    ? `${base}tiles?${query}&${place}&blocks=${blocks.join(",")}&layout=${layout}`
    : `${base}counters?${query}&${place}&series=${blocks.join(",")}`;
}
