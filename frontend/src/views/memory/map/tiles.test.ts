import { describe, expect, it } from "vitest";
import type { AddressMap } from "../../../api/types.gen";
import { addressAt, blockAt, decodeTile, movedView, tilesOf, zoomedView } from "./tiles";

const MAP: AddressMap = {
  device: "cuda:0",
  bytes: 3000,
  end_ns: 1_000_000,
  bands: [
    { address: "0x1000", offset: 0, bytes: 1000 },
    { address: "0x7f0000000000", offset: 1000, bytes: 2000 },
  ],
  tile_buckets: 512,
  tile_rows: 256,
  segments: 0,
  note: "",
  missing: "",
};

/** A frame of one tile with one rectangle and two cells. */
function frame(): ArrayBuffer {
  const bytes = new ArrayBuffer(32 + 64 + 7 * 8 + 3 * 8 + 4 * 8);
  const view = new DataView(bytes);
  view.setUint32(0, 0x3150414d, true);
  view.setUint32(8, 1, true);
  const entry = 32;
  view.setUint32(entry, 1, true);
  view.setUint32(entry + 4, 2, true);
  view.setUint32(entry + 32, 96, true);
  view.setUint32(entry + 36, 96 + 56, true);
  view.setUint32(entry + 12, 1, true);
  view.setUint32(entry + 40, 176, true);
  for (const [at, value] of [10, 20, 5, 6].entries()) {
    view.setFloat32(96 + 8 * at, value, true);
    view.setFloat32(176 + 8 * at, value + 1, true);
  }
  view.setUint32(96 + 32, 77, true);
  view.setUint8(96 + 40, 7);
  view.setUint32(152, 513, true);
  view.setUint32(156, 1024, true);
  view.setUint8(160, 255);
  view.setUint8(161, 9);
  view.setUint8(168, 4);
  return bytes;
}

describe("a tile", () => {
  it("is read column by column", () => {
    const tile = decodeTile(frame());
    expect([...tile.block, ...tile.category]).toEqual([77, 7]);
    expect([...tile.cell, ...tile.covered, ...tile.cellCategory]).toEqual([
      513, 1024, 255, 9, 4, 0,
    ]);
    expect(tile.segments.map((column) => [...column])).toEqual([[11], [21], [6], [7]]);
    expect(blockAt(tile, 15, 5.5)).toBe(77);
    expect(blockAt(tile, 20, 5.5)).toBe(-1);
    expect(blockAt(tile, 15, 6)).toBe(-1);
  });

  it("that is none, or is cut, is refused", () => {
    expect(() => decodeTile(new ArrayBuffer(8))).toThrow(/no tile/);
    expect(() => decodeTile(new ArrayBuffer(200))).toThrow(/no tile/);
    expect(() => decodeTile(frame().slice(0, 160))).toThrow(/no tile/);
  });
});

describe("a view", () => {
  const whole = { start: 0, end: 1_000_000, low: 0, high: 3000 };

  it("needs the tiles that cover it, with cells of one to two pixels", () => {
    const names = tilesOf(MAP, whole, 1000, 278);
    const { level = 0, rowLevel = 0 } = names[0] ?? {};
    expect(2 ** level).toBeGreaterThanOrEqual(1_000_000 / 1000);
    expect(2 ** level).toBeLessThan((2 * 1_000_000) / 1000);
    expect(2 ** rowLevel).toBeGreaterThanOrEqual(3000 / 278);
    expect(names.length).toBeLessThanOrEqual(8);
    const last = names.at(-1);
    expect(((last?.tile ?? 0) + 1) * 512 * 2 ** level).toBeGreaterThanOrEqual(1_000_000);
    expect(((last?.rowTile ?? 0) + 1) * 256 * 2 ** rowLevel).toBeGreaterThanOrEqual(3000);
  });

  it("stays within the map, whatever it is zoomed and moved", () => {
    const map = { ...MAP, bytes: 2 ** 30 };
    const all = { ...whole, high: 2 ** 30 };
    const near = zoomedView(map, all, { ts: 250_000, offset: 0 }, 0.5);
    expect(near).toEqual({ start: 125_000, end: 625_000, low: 0, high: 2 ** 29 });
    expect(zoomedView(map, near, { ts: 0, offset: 0 }, 100)).toEqual(all);
    const left = movedView(map, near, -9, -9);
    expect(left).toEqual({ start: 0, end: 500_000, low: 0, high: 2 ** 29 });
    expect(movedView(map, near, 9, 9)).toEqual({
      start: 500_000,
      end: 1_000_000,
      low: 2 ** 29,
      high: 2 ** 30,
    });
    const closest = zoomedView(map, all, { ts: 5, offset: 5 }, 1e-12);
    expect([closest.end - closest.start, closest.high - closest.low]).toEqual([1000, 4096]);
  });

  it("tells addresses across bands", () => {
    expect(addressAt(MAP, 16)).toBe("0x1010");
    expect(addressAt(MAP, 1001)).toBe("0x7f0000000001");
    expect(addressAt(MAP, 3000)).toBe("");
  });
});
