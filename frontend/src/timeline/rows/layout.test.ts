import { describe, expect, it } from "vitest";
import { random } from "../../../test-fixtures/fake_trace";
import type { TimelineRow } from "../contract";
import {
  COMPACT_LANE,
  FULL_LANE,
  HEAT_STRIP,
  laneAt,
  lanePitch,
  lanesDrawn,
  laneTop,
  PAD_BOTTOM,
  PAD_TOP,
  RowStack,
  rowHeight,
  type TrackRow,
} from "./layout";
import { placedRows } from "./placed";

const PAD = PAD_TOP + PAD_BOTTOM;
const track = (more: Partial<TrackRow> = {}): TrackRow => ({
  type: "track",
  key: "t",
  source: 0,
  track: 0,
  lanes: 20,
  fullLanes: 12,
  mode: "full",
  firstLane: 0,
  ...more,
});

it.each([
  ["full lanes, then compact ones", track(), 12 * FULL_LANE + 8 * COMPACT_LANE + PAD],
  ["fewer lanes than may be full", track({ lanes: 3 }), 3 * FULL_LANE + PAD],
  ["below a focus", track({ firstLane: 15 }), 5 * FULL_LANE + PAD],
  ["compact", track({ mode: "compact" }), 20 * COMPACT_LANE + PAD],
  ["compact, one lane: room for a label", track({ mode: "compact", lanes: 1 }), 18],
  ["heat", track({ mode: "heat" }), HEAT_STRIP + PAD],
])("the height of a track: %s", (_what, row, height) => {
  expect(rowHeight(row)).toBe(height);
});

it("a lane is found where it is drawn, in every mode", () => {
  for (const mode of ["full", "compact", "heat"] as const) {
    for (const firstLane of [0, 4]) {
      const row = track({ mode, firstLane });
      for (let lane = firstLane; lane < row.lanes; lane += 1) {
        const top = laneTop(row, lane);
        expect(laneAt(row, top + 0.01)).toBe(lane);
        expect(laneAt(row, top + lanePitch(row, lane) - 0.01)).toBe(lane);
      }
      const end = laneTop(row, firstLane + lanesDrawn(row));
      expect([laneAt(row, -0.1), laneAt(row, end + 0.1)]).toEqual([null, null]);
    }
  }
});

const heading = (key: string): TimelineRow => ({ type: "heading", key, height: 20 });

describe("rows one below the other", () => {
  it("are found by height", () => {
    const next = random(1);
    const rows = Array.from({ length: 50 }, (_, i) =>
      i % 5 === 0 ? heading(`h${i}`) : track({ key: `t${i}`, lanes: 1 + Math.floor(next() * 30) }),
    );
    const stack = new RowStack(rows);
    for (let y = 0; y < stack.height; y += 3.7) {
      const index = stack.indexAt(y);
      expect(stack.top(index)).toBeLessThanOrEqual(y);
      expect(stack.top(index + 1)).toBeGreaterThan(y);
    }
    expect([stack.indexAt(-1), stack.indexAt(stack.height)]).toEqual([-1, 50]);
  });

  it("that have no height are never found", () => {
    const none: TimelineRow = { type: "heading", key: "none", height: 0 };
    const stack = new RowStack([heading("a"), none, heading("b")]);
    expect([stack.indexAt(19), stack.indexAt(20)]).toEqual([0, 2]);
  });
});

it("the shell is told where visible rows are, the pinned ones apart", () => {
  const rows = new RowStack(["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"].map(heading));
  const placed = placedRows(new RowStack([heading("p")]), rows, 130, 60);
  const said = placed.map(({ row, top }) => [row.key, top]);
  // Ten rows of 20 px, scrolled by 130 below a pinned one of 20: "a" is 110 px above the canvas.
  expect(said).toEqual([
    ["p", 0],
    ["b", -90],
    ["c", -70],
    ["d", -50],
    ["e", -30],
    ["f", -10],
    ["g", 10],
    ["h", 30],
    ["i", 50],
    ["j", 70],
    ["k", 90],
  ]);
});
