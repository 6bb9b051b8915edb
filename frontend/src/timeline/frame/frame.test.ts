import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { cutBlock, cutCounter, random, randomTrace } from "../../../test-fixtures/fake_trace";
import { countersFrame, minimapFrame, namesFrame, tilesFrame } from "../../../test-fixtures/frames";
import { joinFrames } from "../../api/frames";
import { decodeCounterTiles } from "./counters";
import { FrameError } from "./frame";
import { decodeMinimap } from "./minimap";
import { decodeNames } from "./names";
import { decodeSliceTiles } from "./slices";

const rect = { x0: 1.5, x1: 20, slice: 7, name: 3, kind: 8, flags: 16 };
const bucket = { x: 400, count: 5, slice: 9, name: 2, kind: 0, busy: 128 };
const block = {
  track: 3,
  lane: 16,
  level: 11,
  tile: 123456789,
  rects: [[rect], [], [rect, { ...rect, x0: 30, x1: 31 }]],
  buckets: [[], [bucket], []],
  slices: 42,
  sumNs: 2 ** 52,
};

describe("a frame of tiles", () => {
  it("is looked at in place", () => {
    const [tile] = decodeSliceTiles(tilesFrame([block]));
    expect(tile).toMatchObject({ track: 3, lane: 16, lanes: 3, level: 11, tile: 123456789 });
    expect(tile).toMatchObject({ slices: 42, sumNs: 2 ** 52 });
    expect([...(tile?.rectFirst ?? [])]).toEqual([0, 1, 1, 3]);
    expect([...(tile?.x0 ?? [])]).toEqual([1.5, 1.5, 30]);
    expect([...(tile?.rectFlags ?? [])]).toEqual([16, 16, 16]);
    expect([...(tile?.bucketFirst ?? [])]).toEqual([0, 0, 1, 1]);
    expect([...(tile?.x ?? [])]).toEqual([400]);
    expect([...(tile?.busy ?? [])]).toEqual([128]);
  });

  it("may hold nothing", () => {
    const [tile] = decodeSliceTiles(tilesFrame([{ ...block, rects: [[]], buckets: [[]] }]));
    expect([...(tile?.rectFirst ?? [])]).toEqual([0, 0]);
    expect(tile?.x0).toHaveLength(0);
    expect(decodeSliceTiles(tilesFrame([]))).toEqual([]);
  });

  it("keeps no more memory than its records need", () => {
    const frame = tilesFrame([block, { ...block, tile: 1 }]);
    const tiles = decodeSliceTiles(frame);
    expect(tiles[0]?.x0.buffer).not.toBe(frame);
    expect(tiles[0]?.x0.buffer).toBe(tiles[0]?.rectFlags.buffer);
    expect(tiles[0]?.x0.buffer).not.toBe(tiles[1]?.x0.buffer);
  });

  it("that is cut off anywhere is refused", () => {
    const frame = tilesFrame([block, cutBlock(randomTrace(1, 16, 50, 1e6), 0, 0, 6, 3)]);
    for (let length = 0; length < frame.byteLength - 8; length += 1) {
      expect(() => decodeSliceTiles(frame.slice(0, length))).toThrow(FrameError);
    }
  });

  it("of another kind, version or maker is refused", () => {
    const changed = (place: number, value: number) => {
      const frame = tilesFrame([block]);
      new DataView(frame).setUint16(place, value, true);
      return frame;
    };
    expect(() => decodeSliceTiles(changed(0, 1))).toThrow("does not begin");
    expect(() => decodeSliceTiles(changed(4, 2))).toThrow("version 2 is not 1");
    expect(() => decodeSliceTiles(changed(6, 1))).toThrow("kind 1, not tiles");
    expect(() => decodeSliceTiles(namesFrame(0, ["a"]))).toThrow(FrameError);
  });

  it("with damaged bytes is refused or read, and nothing else", () => {
    const next = random(5);
    const frame = tilesFrame([block, cutBlock(randomTrace(2, 16, 40, 1e6), 0, 0, 8, 0)]);
    for (let i = 0; i < 2000; i += 1) {
      const damaged = frame.slice(0);
      const bytes = new Uint8Array(damaged);
      for (let hits = 0; hits < 3; hits += 1) {
        bytes[Math.floor(next() * 200)] = Math.floor(next() * 256);
      }
      try {
        for (const tile of decodeSliceTiles(damaged)) {
          expect(tile.rectFirst[tile.lanes]).toBe(tile.x0.length);
          expect(tile.bucketFirst[tile.lanes]).toBe(tile.x.length);
        }
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(FrameError);
      }
    }
  });
});

it("counters keep every extreme", () => {
  const samples = [10, 20, 5, 30].map((value, i) => ({ ts: 600 + i, value }));
  const trace = { tracks: [], counters: [samples], names: [], endNs: 2000 };
  const [tile] = decodeCounterTiles(countersFrame([cutCounter(trace, 0, 1, 0)]));
  expect(tile).toMatchObject({ series: 0, level: 1, tile: 0, before: Number.NaN });
  expect([...(tile?.x ?? [])]).toEqual([300, 301]);
  expect([...(tile?.low ?? [])]).toEqual([10, 5]);
  expect([...(tile?.high ?? [])]).toEqual([20, 30]);
  expect([...(tile?.last ?? [])]).toEqual([20, 30]);
  const [later] = decodeCounterTiles(countersFrame([cutCounter(trace, 0, 1, 1)]));
  expect(later).toMatchObject({ before: 30, tile: 1 });
  expect(later?.x).toHaveLength(0);
});

it("names may be of any script, and empty", () => {
  const texts = ["aten::mm", "", "カーネル", "x".repeat(512), "🙂"];
  expect(decodeNames(namesFrame(8192, texts))).toEqual({ first: 8192, texts });
});

it("names whose ends fall are refused", () => {
  const frame = namesFrame(0, ["ab", "cd"]);
  const ends = new DataView(frame).getUint32(40, true);
  new DataView(frame).setUint32(ends, 3, true);
  new DataView(frame).setUint32(ends + 4, 2, true);
  expect(() => decodeNames(frame)).toThrow("overlap");
});

it("the minimap is a share per column and track", () => {
  const tracks = decodeMinimap(minimapFrame([[4, [0, 128, 255]]]));
  expect(tracks).toEqual([{ track: 4, busy: Uint8Array.of(0, 128, 255) }]);
});

const written = join(import.meta.dirname, "../../../../tests/fixtures/frames");

/** What the server's own test says of a frame: entries with plain lists of numbers. */
interface Told {
  // biome-ignore lint/suspicious/noExplicitAny: a test reads plain JSON
  readonly entries: readonly any[];
}

const frameOf = (name: string): ArrayBuffer => {
  const bytes = readFileSync(join(written, `${name}.bin`));
  return new Uint8Array(bytes).buffer;
};

const told = (name: string): Told =>
  JSON.parse(readFileSync(join(written, `${name}.json`), "utf8")) as Told;

const plain = (column: Iterable<number>): number[] => [...column];

describe("frames as the server writes them", () => {
  it.each(["tiles", "no_tiles"])("%s", (name) => {
    const read = decodeSliceTiles(frameOf(name)).map((tile) => ({
      track: tile.track,
      lane: tile.lane,
      lanes: tile.lanes,
      level: tile.level,
      tile: tile.tile,
      slices: tile.slices,
      sum_ns: tile.sumNs,
      rects: {
        lane_first: plain(tile.rectFirst),
        x0: plain(tile.x0),
        x1: plain(tile.x1),
        slice: plain(tile.rect),
        name: plain(tile.rectName),
        kind: plain(tile.rectKind),
        flags: plain(tile.rectFlags),
      },
      buckets: {
        lane_first: plain(tile.bucketFirst),
        count: plain(tile.count),
        slice: plain(tile.longest),
        name: plain(tile.bucketName),
        x: plain(tile.x),
        kind: plain(tile.bucketKind),
        busy: plain(tile.busy),
      },
    }));
    expect(read).toEqual(told(name).entries);
  });

  it("counters", () => {
    const read = decodeCounterTiles(frameOf("counters")).map((tile) => ({
      series: tile.series,
      level: tile.level,
      tile: tile.tile,
      held: Number.isNaN(tile.before) ? null : tile.before,
      x: plain(tile.x),
      low: plain(tile.low),
      high: plain(tile.high),
      last: plain(tile.last),
      mean: plain(tile.mean),
    }));
    expect(read).toEqual(told("counters").entries);
  });

  it("names and minimap", () => {
    expect([decodeNames(frameOf("names"))]).toEqual(told("names").entries);
    const minimap = decodeMinimap(frameOf("minimap")).map(({ track, busy }) => ({
      track,
      busy: plain(busy),
    }));
    expect(minimap).toEqual(told("minimap").entries);
  });
});

/** A frame of one empty tile of two lanes: three offsets each for rectangles and buckets. */
function emptyFrame(tile: number): ArrayBuffer {
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
  const tiles = decodeSliceTiles(joinFrames([emptyFrame(3), emptyFrame(4), emptyFrame(5)]));
  expect(tiles.map(({ tile }) => tile)).toEqual([3, 4, 5]);
  expect(tiles.map(({ sumNs }) => sumNs)).toEqual([30, 40, 50]);
  expect(tiles.map(({ rectFirst }) => [...rectFirst])).toEqual([
    [0, 0, 0],
    [0, 0, 0],
    [0, 0, 0],
  ]);
});

it("leaves one alone, and makes nothing of none", () => {
  const only = emptyFrame(7);
  expect(joinFrames([only])).toBe(only);
  expect(joinFrames([]).byteLength).toBe(0);
});
