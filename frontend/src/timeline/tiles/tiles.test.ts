import { describe, expect, it } from "vitest";
import { cutBlock, random, randomTrace } from "../../../test-fixtures/fake_trace";
import { tilesFrame } from "../../../test-fixtures/frames";
import { decodeSliceTiles, type SliceTile } from "../frame/slices";
import { cover, type Piece } from "./cover";
import { bucketNs, coarsestLevel, levelFor, storedTile, tileAt, tileKey, tileNs } from "./grid";
import { TileStore } from "./store";

const emptyTile = (level: number, tile: number): SliceTile => {
  const block = { track: 0, lane: 0, level, tile, rects: [[]], buckets: [[]] };
  const [made] = decodeSliceTiles(tilesFrame([block]));
  if (made === undefined) {
    throw new Error("no tile");
  }
  return made;
};

describe("levels", () => {
  it("have buckets of half a px to a whole one", () => {
    const next = random(1);
    for (let i = 0; i < 500; i += 1) {
      const nsPerPx = 10 ** (next() * 10);
      const width = bucketNs(levelFor(nsPerPx, 54)) / nsPerPx;
      expect(width).toBeGreaterThan(0.5);
      expect(width).toBeLessThanOrEqual(1);
    }
  });

  it("end where one tile is the whole trace", () => {
    expect(levelFor(0.02, 54)).toBe(0);
    expect(levelFor(1e15, 7)).toBe(7);
    expect(coarsestLevel(511)).toBe(0);
    expect(coarsestLevel(512)).toBe(1);
    for (const end of [1, 1e6, 1e9 + 1, 3.6e12]) {
      const level = coarsestLevel(end);
      expect(tileAt(level, end)).toBe(0);
    }
  });

  it("of any tile have a key of their own", () => {
    const keys = new Set<number>();
    for (let level = 0; level <= 54; level += 1) {
      for (const tile of [0, 1, 63, 64, 2 ** 44]) {
        keys.add(tileKey(level, tile));
      }
    }
    expect(keys.size).toBe(55 * 5);
    expect(Number.isSafeInteger(tileKey(54, 2 ** 44))).toBe(true);
  });
});

describe("what is drawn while tiles are missing", () => {
  const COARSEST = 10;
  const END = tileNs(COARSEST);

  const coverOf = (present: readonly (readonly [number, number])[], level: number) => {
    const store = new TileStore(1e9);
    for (const [k, i] of present) {
      store.put(0, emptyTile(k, i), 0);
    }
    const pieces: Piece<SliceTile>[] = [];
    cover(store.slices(0, 0, 0), level, COARSEST, 0, END, pieces);
    return pieces;
  };

  const said = (pieces: readonly Piece<SliceTile>[]) =>
    pieces.map(({ tile, start, end }) => [tile.level, tile.tile, start / END, end / END]);

  it("is the tile itself, or the nearest coarser one, in one piece", () => {
    expect(said(coverOf([[10, 0]], 8))).toEqual([[10, 0, 0, 1]]);
    expect(
      said(
        coverOf(
          [
            [10, 0],
            [8, 1],
          ],
          8,
        ),
      ),
    ).toEqual([
      [10, 0, 0, 0.25],
      [8, 1, 0.25, 0.5],
      [10, 0, 0.5, 1],
    ]);
  });

  it("is finer ones where they are all there", () => {
    const finer = [0, 1, 2, 3].map((i) => [8, i] as const);
    expect(said(coverOf([[10, 0], ...finer], 9))).toEqual([
      [8, 0, 0, 0.25],
      [8, 1, 0.25, 0.5],
      [8, 2, 0.5, 0.75],
      [8, 3, 0.75, 1],
    ]);
    expect(said(coverOf([[10, 0], ...finer.slice(1)], 9))).toEqual([
      [10, 0, 0, 0.5],
      [8, 2, 0.5, 0.75],
      [8, 3, 0.75, 1],
    ]);
  });

  it("leaves no gap and draws nothing twice, whichever tiles there are", () => {
    const next = random(7);
    for (let run = 0; run < 300; run += 1) {
      const present: [number, number][] = [[COARSEST, 0]];
      for (let i = 0; i < 20; i += 1) {
        const level = Math.floor(next() * COARSEST);
        present.push([level, Math.floor(next() * 2 ** (COARSEST - level))]);
      }
      let at = 0;
      for (const { tile, start, end } of coverOf(present, 5 + Math.floor(next() * 6))) {
        expect(start).toBe(at);
        expect(end).toBeGreaterThan(start);
        expect(tile.tile * tileNs(tile.level)).toBeLessThanOrEqual(start);
        expect((tile.tile + 1) * tileNs(tile.level)).toBeGreaterThanOrEqual(end);
        at = end;
      }
      expect(at).toBe(END);
    }
  });
});

describe("the store", () => {
  const size = emptyTile(0, 0).bytes;

  it("drops what was drawn longest ago, the coarsest levels last", () => {
    const store = new TileStore(10 * size);
    store.setCoarsest(0, 9);
    store.put(0, emptyTile(9, 0), 0);
    store.put(0, emptyTile(8, 1), 0);
    for (let i = 0; i < 12; i += 1) {
      store.put(0, emptyTile(3, i), i);
    }
    store.trim(11);
    const { tiles } = store.slices(0, 0, 0);
    expect(store.bytes).toBeLessThanOrEqual(10 * size);
    expect(store.bytes).toBe([...tiles.values()].reduce((sum, { bytes }) => sum + bytes, 0));
    expect(store.tiles).toBe(tiles.size);
    expect(tiles.has(tileKey(9, 0))).toBe(true);
    expect(tiles.has(tileKey(8, 1))).toBe(true);
    expect(tiles.has(tileKey(3, 11))).toBe(true);
    expect(tiles.has(tileKey(3, 0))).toBe(false);
    expect(tiles.has(tileKey(3, 10))).toBe(true);
  });

  it("keeps what the frame drew even if it does not fit", () => {
    const store = new TileStore(size);
    for (let i = 0; i < 5; i += 1) {
      store.put(0, emptyTile(3, i), 1);
    }
    store.trim(1);
    expect(store.tiles).toBe(5);
    store.trim(2);
    expect(store.bytes).toBeLessThanOrEqual(size);
  });

  it("is bounded even when all it holds is coarse", () => {
    const store = new TileStore(4 * size);
    store.setCoarsest(0, 3);
    for (let i = 0; i < 12; i += 1) {
      store.put(0, emptyTile(3, i), i);
    }
    store.trim(20);
    expect(store.bytes).toBeLessThanOrEqual(4 * size);
    expect(store.slices(0, 0, 0).tiles.has(tileKey(3, 11))).toBe(true);
  });

  it("counts a tile that comes again once", () => {
    const store = new TileStore(1e9);
    store.put(0, emptyTile(3, 1), 0);
    store.put(0, emptyTile(3, 1), 0);
    expect([store.tiles, store.bytes]).toEqual([1, size]);
  });

  it("forgets a source as a whole", () => {
    const store = new TileStore(1e9);
    store.put(0, emptyTile(3, 1), 0);
    store.put(1, emptyTile(3, 1), 0);
    store.drop(0);
    expect([store.tiles, store.bytes]).toEqual([1, size]);
    expect(store.slices(0, 0, 0).tiles.size).toBe(0);
  });
});

it("the invented tiles hold every slice once at every level", () => {
  const trace = randomTrace(3, 3, 200, 1e6);
  const total = (trace.tracks[0] ?? []).flat().length;
  for (const level of [0, 4, 9, 11]) {
    let sum = 0;
    for (let tile = 0; tile * tileNs(level) <= trace.endNs; tile += 1) {
      sum += cutBlock(trace, 0, 0, level, tile).slices ?? 0;
    }
    expect(sum).toBe(total);
  }
});

it("asks a report for what it holds", () => {
  const levels = { everywhere: 8, inRanges: 3, ranges: [[10_000, 20_000]] } as const;
  // Level 4 has tiles of 8192 ns: the range is in 1 and 2.
  expect([0, 1, 2, 3].map((tile) => storedTile(4, tile, levels))).toEqual([
    [8, 0],
    [4, 1],
    [4, 2],
    [8, 0],
  ]);
  expect(storedTile(4, 35, levels)).toEqual([8, 2]);
  expect(storedTile(8, 35, levels)).toEqual([8, 35]);
  expect(storedTile(9, 2, levels)).toEqual([9, 2]);
});
