/** The address map as the server sends it: which tiles a view needs, and what is in them. */
import { Problem } from "../../../api/problem";
import type { AddressMap } from "../../../api/types.gen";

/** What is looked at: ns across, bytes of offset upwards. */
export interface MapView {
  readonly start: number;
  readonly end: number;
  readonly low: number;
  readonly high: number;
}

/** `level` and `rowLevel` are log2 of ns per bucket and of bytes per row. */
export interface TileName {
  readonly level: number;
  readonly rowLevel: number;
  readonly tile: number;
  readonly rowTile: number;
}

/** Blocks large enough to be drawn, in cells from the corner of the tile, and shares of the others. */
export interface DecodedTile {
  readonly x0: Float32Array;
  readonly x1: Float32Array;
  readonly y0: Float32Array;
  readonly y1: Float32Array;
  readonly block: Uint32Array;
  readonly category: Uint8Array;
  readonly cell: Uint32Array;
  /** Of 255. */
  readonly covered: Uint8Array;
  readonly cellCategory: Uint8Array;
  /** What the allocator held, in use or not: x0, x1, y0 and y1 of each segment. */
  readonly segments: readonly [Float32Array, Float32Array, Float32Array, Float32Array];
}

const MAGIC = 0x3150414d;
const HEADER = 32;
const ENTRY = 64;
const MOST_LEVEL = 50;
/** Nobody looks closer than at a page of memory, or at a microsecond. */
const LEAST_BYTES = 4096;
const LEAST_NS = 1000;

const levelOf = (span: number, px: number) =>
  Math.max(0, Math.min(MOST_LEVEL, Math.ceil(Math.log2(Math.max(1, span) / Math.max(1, px)))));

/** The tiles that cover a view of so many pixels, one to two of which are a cell. */
export function tilesOf(map: AddressMap, view: MapView, width: number, height: number): TileName[] {
  const level = levelOf(view.end - view.start, width);
  const rowLevel = levelOf(view.high - view.low, height);
  const wide = map.tile_buckets * 2 ** level;
  const tall = map.tile_rows * 2 ** rowLevel;
  const names: TileName[] = [];
  for (let rowTile = Math.floor(view.low / tall); rowTile * tall < view.high; rowTile += 1) {
    for (let tile = Math.floor(view.start / wide); tile * wide < view.end; tile += 1) {
      names.push({ level, rowLevel, tile, rowTile });
    }
  }
  return names;
}

const notATile = () =>
  new Problem(200, {
    kind: "bad_answer",
    message: "The answer is no tile of the address map.",
    hint: "The server may be of another version: reload the page.",
  });

/** The first tile of a frame; its layout is that of `tb_plugin/views/memory/tiles.py`. */
export function decodeTile(bytes: ArrayBuffer): DecodedTile {
  const view = new DataView(bytes);
  if (bytes.byteLength < HEADER + ENTRY || view.getUint32(0, true) !== MAGIC) {
    throw notATile();
  }
  const at = (offset: number) => view.getUint32(HEADER + offset, true);
  const [rects, cells, rectsAt, cellsAt] = [at(0), at(4), at(32), at(36)];
  const padded = (size: number) => Math.ceil(size / 8) * 8;
  const floats = padded(4 * rects);
  const small = padded(rects);
  const wide = padded(4 * cells);
  const [held, heldAt] = [at(12), at(40)];
  const heldBytes = padded(4 * held);
  if (
    cellsAt + wide + 2 * padded(cells) > bytes.byteLength ||
    heldAt + 4 * heldBytes > bytes.byteLength ||
    rectsAt > cellsAt
  ) {
    throw notATile();
  }
  const segment = (place: number) => new Float32Array(bytes, heldAt + place * heldBytes, held);
  const column = (place: number) => new Float32Array(bytes, rectsAt + place * floats, rects);
  const codesAt = rectsAt + 5 * floats;
  return {
    x0: column(0),
    x1: column(1),
    y0: column(2),
    y1: column(3),
    block: new Uint32Array(bytes, rectsAt + 4 * floats, rects),
    category: new Uint8Array(bytes, codesAt, small === 0 ? 0 : rects),
    cell: new Uint32Array(bytes, cellsAt, cells),
    covered: new Uint8Array(bytes, cellsAt + wide, cells),
    cellCategory: new Uint8Array(bytes, cellsAt + wide + padded(cells), cells),
    segments: [segment(0), segment(1), segment(2), segment(3)],
  };
}

/** The drawn block at a place of a tile, in cells; −1 = none. */
export function blockAt({ x0, x1, y0, y1, block }: DecodedTile, x: number, y: number): number {
  for (let at = 0; at < block.length; at += 1) {
    const across = x >= (x0[at] ?? 0) && x < (x1[at] ?? 0);
    if (across && y >= (y0[at] ?? 0) && y < (y1[at] ?? 0)) {
      return block[at] ?? -1;
    }
  }
  return -1;
}

/** The address of an offset, hexadecimal; "" beyond all bands. */
export function addressAt({ bands }: AddressMap, offset: number): string {
  const band = bands.find((one) => offset >= one.offset && offset < one.offset + one.bytes);
  return band === undefined
    ? ""
    : `0x${(BigInt(band.address) + BigInt(Math.floor(offset - band.offset))).toString(16)}`;
}

/** A span of `size` moved and scaled around a point of it, within [0, most]. */
function scaled(
  low: number,
  high: number,
  around: number,
  by: number,
  least: number,
  most: number,
) {
  const size = Math.max(Math.min(least, most), Math.min(most, (high - low) * by));
  const share = high > low ? (around - low) / (high - low) : 0.5;
  const start = Math.max(0, Math.min(most - size, around - share * size));
  return [start, start + size] as const;
}

/** The view after zooming around an instant and an offset; `by` below 1 comes closer. */
export function zoomedView(
  map: AddressMap,
  view: MapView,
  { ts, offset }: { readonly ts: number; readonly offset: number },
  by: number,
): MapView {
  const [start, end] = scaled(view.start, view.end, ts, by, LEAST_NS, map.end_ns);
  const [low, high] = scaled(view.low, view.high, offset, by, LEAST_BYTES, map.bytes);
  return { start, end, low, high };
}

/** The view moved by shares of itself, within the map. */
export function movedView(map: AddressMap, view: MapView, across: number, up: number): MapView {
  const wide = view.end - view.start;
  const tall = view.high - view.low;
  const start = Math.max(0, Math.min(map.end_ns - wide, view.start + across * wide));
  const low = Math.max(0, Math.min(map.bytes - tall, view.low + up * tall));
  return { start, end: start + wide, low, high: low + tall };
}
