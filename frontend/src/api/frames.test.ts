import { expect, it } from "vitest";
import { decodeSliceTiles } from "../timeline/frame/slices";
import { joinFrames } from "./frames";

/** A frame of one empty tile of two lanes: three offsets each for rectangles and buckets. */
function frame(tile: number): ArrayBuffer {
  const bytes = new ArrayBuffer(32 + 64 + 32);
  const view = new DataView(bytes);
  view.setUint32(0, 0x31464c54, true);
  view.setUint16(4, 1, true);
  view.setUint32(8, 1, true);
  view.setUint8(32 + 6, 2);
  view.setFloat64(32 + 16, tile, true);
  view.setUint32(32 + 24, 96, true);
  view.setUint32(32 + 28, 112, true);
  view.setFloat64(32 + 40, tile * 10, true);
  return bytes;
}

it("joins tiles, each with its own columns", () => {
  const tiles = decodeSliceTiles(joinFrames([frame(3), frame(4), frame(5)]));
  expect(tiles.map(({ tile }) => tile)).toEqual([3, 4, 5]);
  expect(tiles.map(({ sumNs }) => sumNs)).toEqual([30, 40, 50]);
  expect(tiles.map(({ rectFirst }) => [...rectFirst])).toEqual([
    [0, 0, 0],
    [0, 0, 0],
    [0, 0, 0],
  ]);
});

it("leaves one alone, and makes nothing of none", () => {
  const only = frame(7);
  expect(joinFrames([only])).toBe(only);
  expect(joinFrames([]).byteLength).toBe(0);
});
