import { describe, expect, it } from "vitest";
import {
  cutBlock,
  type FakeSlice,
  type FakeTrace,
  random,
  randomTrace,
} from "../../../test-fixtures/fake_trace";
import { tilesFrame } from "../../../test-fixtures/frames";
import { fillOf, testPalette } from "../../../test-fixtures/palette";
import { decodeSliceTiles, type SliceTile } from "../frame/slices";
import { NameTable } from "../names/name_table";
import { levelFor, tileAt, tileNs } from "../tiles/grid";
import { Labels } from "./labels";
import { type LanePainter, type LanePlace, paintLane } from "./lane";
import { Marks } from "./marks";
import { makePaint, packColor } from "./paint";
import { Strip } from "./strip";

const WIDTH = 400;
const paint = makePaint(testPalette, (color) => color);

interface Drawn {
  readonly pixels: Uint32Array;
  readonly labels: Labels;
}

/** A lane as the canvas shows it from `start` on, at its own level or some levels coarser. */
function draw(
  trace: FakeTrace,
  start: number,
  nsPerPx: number,
  { coarser = 0, dpr = 1, names = new NameTable(trace.names.length) } = {},
): Drawn {
  const strip = new Strip();
  const labels = new Labels();
  strip.reset(WIDTH);
  labels.reset();
  strip.openRow();
  const scale = { start, nsPerPx, dpr, width: WIDTH };
  const painter: LanePainter = { scale, strip, paint, labels, marks: new Marks() };
  const place: LanePlace = { lane: 0, names, offset: 0, top: 0, height: 17, hasLabels: true };
  const level = levelFor(nsPerPx * dpr, 54) + coarser;
  const end = start + WIDTH * nsPerPx;
  for (let tile = Math.max(0, tileAt(level, start)); tile <= tileAt(level, end); tile += 1) {
    const [cut] = decodeSliceTiles(tilesFrame([cutBlock(trace, 0, 0, level, tile)]));
    const width = tileNs(level);
    paintLane(
      painter,
      { tile: cut as SliceTile, start: tile * width, end: (tile + 1) * width },
      place,
    );
  }
  strip.closeRow();
  return { pixels: strip.pixels.slice(0, WIDTH), labels };
}

const lane = (...slices: readonly Partial<FakeSlice>[]): FakeTrace => ({
  tracks: [
    [slices.map((each, slice) => ({ ts: 0, dur: 0, name: 0, kind: 0, flags: 0, slice, ...each }))],
  ],
  counters: [],
  names: ["a", "b"],
  endNs: 1e9,
});

const painted = ({ pixels }: Drawn): [number, number][] => {
  const runs: [number, number][] = [];
  pixels.forEach((pixel, column) => {
    const last = runs.at(-1);
    if (pixel >>> 24 !== 0) {
      if (last?.[1] === column) {
        last[1] = column + 1;
      } else {
        runs.push([column, column + 1]);
      }
    }
  });
  return runs;
};

describe("a wide slice", () => {
  it("has whole pixels, and ends one early so that its neighbour is seen", () => {
    const trace = lane({ ts: 100, dur: 50, kind: 8 }, { ts: 150, dur: 50 });
    const drawn = draw(trace, 0, 10);
    expect(painted(drawn)).toEqual([
      [10, 14],
      [15, 19],
    ]);
    expect(drawn.pixels[10]).toBe(packColor(fillOf(8, 0)));
  });

  it("goes through the edges of tiles without a seam, and has one label", () => {
    const level = levelFor(1000, 54);
    const ts = tileNs(level) - 50_000;
    const drawn = draw(lane({ ts, dur: 100_000 }), tileNs(level) - 200_000, 1000);
    expect(painted(drawn)).toEqual([[150, 249]]);
    expect(drawn.labels.length).toBe(1);
  });

  it("is drawn to the edge of the canvas when it goes on beyond it", () => {
    expect(painted(draw(lane({ ts: 0, dur: 1e9 }), 1e6, 1000))).toEqual([[0, WIDTH]]);
  });

  it("is pale when another name is highlighted", () => {
    const names = new NameTable(2);
    names.highlight(new Set([1]));
    const trace = lane({ ts: 100, dur: 100 }, { ts: 300, dur: 100, name: 1 });
    const { pixels } = draw(trace, 0, 10, { names });
    expect([(pixels[12] ?? 0) >>> 24, (pixels[32] ?? 0) >>> 24]).toEqual([0x2e, 0xff]);
  });
});

it("an hour into a trace, at 1 ns per px, a slice is where it is to the px", () => {
  const hour = 3.6e12;
  for (const dur of [3, 7, 50]) {
    const drawn = draw(lane({ ts: hour + 100, dur }), hour, 1);
    expect(painted(drawn)).toEqual([[100, 100 + dur - (dur < 4 ? 0 : 1)]]);
  }
});

it("a name picks the lightness", () => {
  const names = new NameTable(2);
  names.put({ first: 0, texts: ["aten::mm"] });
  const { pixels } = draw(lane({ ts: 0, dur: 100 }), 0, 10, { names });
  expect(pixels[2]).toBe(packColor(fillOf(0, (names.hashes[0] ?? 0) % 4)));
});

it("an instant is there at every zoom", () => {
  for (let nsPerPx = 1; nsPerPx < 1e7; nsPerPx *= 3) {
    const drawn = draw(lane({ ts: 200 * nsPerPx, dur: 0 }), 0, nsPerPx);
    expect(painted(drawn).flat()).toHaveLength(2);
  }
});

/** Columns within `slack` px of which a slice begins, ends or goes on. */
const isNear = (slices: readonly FakeSlice[], from: number, to: number) =>
  slices.some(({ ts, dur }) => ts <= to && ts + dur >= from);

describe.each([
  [1, 0],
  [2, 0],
  [1, 3],
])("random slices at %d device px per CSS px, drawn from %d levels above", (dpr, coarser) => {
  it("are all seen, and nothing else is", () => {
    const next = random(dpr * 10 + coarser);
    for (let run = 0; run < 60; run += 1) {
      const trace = randomTrace(run, 1, 120, 1e6);
      const slices = (trace.tracks[0] ?? []).flat();
      const nsPerPx = (10 ** (next() * 3) * 5) / dpr;
      const start = next() * 5e5;
      const { pixels } = draw(trace, start, nsPerPx, { dpr, coarser });
      // A bucket of that level, and a pixel for what is rounded.
      const slack = (2 ** coarser + 1) * nsPerPx * dpr;
      pixels.forEach((pixel, column) => {
        const at = start + column * nsPerPx;
        if (pixel >>> 24 !== 0) {
          expect(isNear(slices, at - slack, at + nsPerPx + slack)).toBe(true);
        }
      });
      for (const { ts, dur } of slices) {
        const first = Math.floor((ts - start) / nsPerPx);
        const last = Math.floor((ts + dur - start) / nsPerPx);
        if (first >= 2 && last < WIDTH - 2) {
          const reach = Math.ceil(slack / nsPerPx);
          const around = pixels.subarray(Math.max(0, first - reach), last + reach + 1);
          expect(around.some((pixel) => pixel >>> 24 !== 0)).toBe(true);
        }
      }
    }
  });
});
