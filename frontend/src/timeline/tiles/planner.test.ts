import { describe, expect, it } from "vitest";
import { cutBlock, fakeSource, randomTrace } from "../../../test-fixtures/fake_trace";
import { tilesFrame } from "../../../test-fixtures/frames";
import type { TimelineRow } from "../contract";
import { decodeSliceTiles, type SliceTile } from "../frame/slices";
import { Plan } from "../rows/plan";
import { requestsFor } from "./planner";
import { SourceState } from "./sources";
import { TileStore } from "./store";

/** 40 lanes, 18 px each; 1.05 ms, so that the coarsest level is 12: one tile of 2.1 ms. */
const trace = randomTrace(1, 40, 5, 1_050_000);

function setUp(more: Partial<Extract<TimelineRow, { type: "track" }>> = {}) {
  const store = new TileStore(1e9);
  const source = new SourceState(fakeSource(trace, { offset: 1000 }));
  const track: TimelineRow = {
    type: "track",
    key: "t",
    source: 0,
    track: 0,
    lanes: 40,
    fullLanes: 40,
    mode: "full",
    firstLane: 0,
    ...more,
  };
  const counter: TimelineRow = {
    type: "counter",
    key: "c",
    source: 0,
    series: 3,
    unit: "",
    low: 0,
    high: 1,
    tone: "other",
    height: 30,
  };
  const plan = new Plan([track, counter], new Map([[0, source]]), store);
  const tileRequests = (from: number, to: number, start = 101_000, nsPerPx = 64) =>
    requestsFor({ start, end: start + 1000 * nsPerPx, nsPerPx, parts: [{ plan, from, to }] });
  return { store, tileRequests };
}

const said = (tileRequests: ReturnType<typeof requestsFor>, rank: number) =>
  tileRequests
    .filter((tileRequest) => tileRequest.rank === rank)
    .map(({ laneTiles, level, tile }) => `${laneTiles.type} ${laneTiles.lane} ${level}/${tile}`);

describe("a view of 64 µs at the top of a track", () => {
  const { tileRequests } = setUp();

  it("needs the tiles of its level in its lanes first", () => {
    // From 100 µs to 164 µs of the trace; tiles of level 6 are 32.8 µs.
    expect(said(tileRequests(0, 200), 0)).toEqual(["slices 0 6/3", "slices 0 6/4", "slices 0 6/5"]);
  });

  it("then what stands in for everything else, what is beside it, and what is below it", () => {
    expect(said(tileRequests(0, 200), 1)).toEqual([
      "slices 0 12/0",
      "slices 0 6/2",
      "slices 0 6/6",
      "slices 16 6/3",
      "slices 16 6/4",
      "slices 16 6/5",
    ]);
  });

  it("then the next coarser level, and the coarsest of all other rows", () => {
    expect(said(tileRequests(0, 200), 2)).toEqual(["slices 0 7/1", "slices 0 7/2"]);
    expect(said(tileRequests(0, 200), 3)).toEqual([
      "slices 16 12/0",
      "slices 32 12/0",
      "counter 0 12/0",
    ]);
  });
});

it("scrolled down, other lanes and the counter are in view", () => {
  const { tileRequests } = setUp();
  const blocks = said(tileRequests(560, 760), 0).map((text) => text.split("/")[0]);
  expect([...new Set(blocks)]).toEqual(["slices 16 6", "slices 32 6", "counter 0 6"]);
});

it("what is there is not requested for again", () => {
  const { store, tileRequests } = setUp();
  const [tile] = decodeSliceTiles(tilesFrame([cutBlock(trace, 0, 0, 6, 4)]));
  store.put(0, tile as SliceTile, 0);
  expect(said(tileRequests(0, 200), 0)).toEqual(["slices 0 6/3", "slices 0 6/5"]);
});

it("nothing outside of the recording is requested for", () => {
  const { tileRequests } = setUp();
  for (const start of [-1e9, 1e9]) {
    expect(said(tileRequests(0, 200, start), 0)).toEqual([]);
  }
  expect(said(tileRequests(0, 200, -1e9, 1e7), 0)).toEqual(["slices 0 12/0"]);
});

it("lanes above the focus are not requested for", () => {
  const { tileRequests } = setUp({ firstLane: 33 });
  expect(said(tileRequests(0, 50), 0).every((text) => text.startsWith("slices 32"))).toBe(true);
});

it("a heat strip needs all its lanes", () => {
  const { tileRequests } = setUp({ mode: "heat" });
  const blocks = said(tileRequests(0, 20), 0).map((text) => text.split(" ")[1]);
  expect([...new Set(blocks)]).toEqual(["0", "16", "32"]);
});
