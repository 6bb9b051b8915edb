import { describe, expect, it } from "vitest";
import { MANIFEST, recordingOf, trackOf } from "../../../../test-fixtures/timeline";
import type { TimelineCounter } from "../../../api/types.gen";
import { rowHeight } from "../../../timeline/rows/layout";
import { type Arrangement, idOf, UNARRANGED, withMoved } from "../state/arrangement";
import { align, type Source } from "../state/sources";
import { detailOf } from "./labels";
import {
  type RowInfo,
  rowModel,
  rowOfTrack,
  shortLabel,
  siblingsOf,
  toldApart,
  trackList,
} from "./rows";

const one = align(recordingOf("rank0"), [], "clock").sources;
const ids = (...keys: string[]) => keys.map(idOf);

/** Rows as short texts: "# heading", "ops 6/6", with full lanes of lanes drawn. */
function drawn(arrangement: Partial<Arrangement> = {}, sources: readonly Source[] = one) {
  const model = rowModel(sources, { ...UNARRANGED, ...arrangement });
  const words = model.rows.map((row) => {
    const label = model.infos.get(row.key)?.label ?? "?";
    switch (row.type) {
      case "heading":
        return `# ${label}`;
      case "counter":
        return `~ ${label}`;
      default:
        return row.mode === "full"
          ? `${label} ${row.fullLanes}/${row.lanes}`
          : `${label} ${row.mode}`;
    }
  });
  return { model, words };
}

describe("rows by default", () => {
  it("are groups with their tracks and counters; deep tracks are cut, side frames a strip", () => {
    expect(drawn().words).toEqual([
      "# Process 542 · rank 0",
      "Main thread · ops 6/6",
      "Main thread · Python 8/24",
      "Autograd · ops 5/7",
      "Autograd · Python heat",
      "# GPU 2 · AMD Instinct MI300X",
      "Stream 0 · compute 1/1",
      "Stream 4 · RCCL 1/1",
      "~ Launches queued",
    ]);
  });

  it("tell how much deeper a track is", () => {
    const { model } = drawn();
    expect(model.infos.get("thread/542/542/python")?.deeper).toBe(39);
    expect(model.infos.get("thread/542/639/ops")?.deeper).toBe(2);
  });

  it("leave out groups and tracks without anything in them", () => {
    const sources = align(
      recordingOf("a", { counters: [], tracks: [trackOf("x"), trackOf("y", { lanes: 0 })] }),
      [],
      "clock",
    ).sources;
    expect(drawn({}, sources).words).toEqual(["# Process 542 · rank 0", "x 3/3"]);
  });
});

describe("an arrangement", () => {
  it("pins rows above all others, in the order they were pinned", () => {
    const { model, words } = drawn({ pinned: ids("stream/2/4", "thread/542/542/ops") });
    expect(model.pinned.map((row) => row.key)).toEqual(["stream/2/4", "thread/542/542/ops"]);
    expect(words).not.toContain("Stream 4 · RCCL 1/1");
    expect(model.shown).toBe(7);
  });

  it("hides rows and whole groups, and counts what is shown", () => {
    const { model, words } = drawn({ hidden: new Set(ids("device/2", "thread/542/639/python")) });
    expect(words.at(-1)).toBe("Autograd · ops 5/7");
    expect([model.shown, model.total]).toEqual([3, 7]);
    expect(model.infos.get("stream/2/0")).toBeDefined();
  });

  it("collapses a group to its heading", () => {
    const { words } = drawn({ collapsed: new Set(ids("process/542")) });
    expect(words.slice(0, 2)).toEqual(["# Process 542 · rank 0", "# GPU 2 · AMD Instinct MI300X"]);
  });

  it("fits a rank whose groups are collapsed in 150 px, however many it has", () => {
    const { rows } = drawn({
      collapsed: new Set(ids("process/542", "device/2")),
    }).model;
    expect(rows.length).toBeGreaterThan(0);
    const height = rows.reduce((sum, row) => sum + rowHeight(row), 0);
    expect(height).toBeLessThanOrEqual(150);
  });

  it("keeps a pinned row of a collapsed group in sight", () => {
    const { model } = drawn({
      collapsed: new Set(ids("device/2")),
      pinned: ids("stream/2/0"),
    });
    expect(model.pinned).toHaveLength(1);
  });

  it("opens a track to its depth, or folds it", () => {
    const python = idOf("thread/542/542/python");
    expect(drawn({ modes: new Map([[python, "deep"]]) }).words[2]).toBe(
      "Main thread · Python 47/47",
    );
    expect(drawn({ modes: new Map([[python, "compact"]]) }).words[2]).toBe(
      "Main thread · Python compact",
    );
  });

  it("begins at the lane of a subtree in focus", () => {
    const focus = new Map([[idOf("thread/542/542/python"), { lane: 40, slice: 9 }]]);
    const row = drawn({ focus }).model.rows[2];
    expect(row).toMatchObject({ firstLane: 40, lanes: 47, fullLanes: 8 });
  });

  it("moves a row among its siblings only", () => {
    const { model } = drawn();
    const info = model.infos.get("stream/2/4");
    const siblings = info === undefined ? [] : siblingsOf(model, info);
    expect(siblings).toEqual(ids("stream/2/0", "stream/2/4", "queue/2"));
    const moved = withMoved(UNARRANGED, siblings, idOf("stream/2/4"), -1);
    expect(drawn(moved).words.slice(6, 8)).toEqual([
      "Stream 4 · RCCL 1/1",
      "Stream 0 · compute 1/1",
    ]);
  });

  it("moves whole groups", () => {
    const { model } = drawn();
    const heading = model.infos.get("device/2");
    const siblings = heading === undefined ? [] : siblingsOf(model, heading);
    const moved = withMoved(UNARRANGED, siblings, idOf("device/2"), -1);
    expect(drawn(moved).words[0]).toBe("# GPU 2 · AMD Instinct MI300X");
  });
});

describe("several workers", () => {
  const two = align(recordingOf("rank0"), [recordingOf("rank1")], "clock").sources;

  it("are told apart although their processes and threads have the same numbers", () => {
    const { model, words } = drawn({}, two);
    expect(model.total).toBe(14);
    expect(words[0]).toBe("# rank0 · Process 542 · rank 0");
    expect(words).toContain("# rank1 · Process 542 · rank 0");
    expect(rowOfTrack(model, 1, 4)?.key).toBe("rank1\nstream/2/0");
    expect(rowOfTrack(model, 0, 4)?.key).toBe("stream/2/0");
  });

  it("are arranged each for itself", () => {
    const { model } = drawn({ hidden: new Set(ids("rank1\nstream/2/0")) }, two);
    expect(model.infos.get("stream/2/0")?.isHidden).toBe(false);
    expect(model.infos.get("rank1\nstream/2/0")?.isHidden).toBe(true);
  });
});

it("does not repeat the heading in a label", () => {
  expect(shortLabel("GPU 0 est. SM efficiency", "GPU 0 · Tesla V100")).toBe("Est. SM efficiency");
  expect(shortLabel("GPU 0", "GPU 0 · Tesla V100")).toBe("GPU 0");
  expect(shortLabel("GPU 01 queue", "GPU 0 · Tesla V100")).toBe("GPU 01 queue");
  // A counter keeps the recorder's name.
  expect(shortLabel("GPU 0 sm__cycles.sum", "GPU 0", true)).toBe("sm__cycles.sum");
});

it("writes lists of tracks as requests do", () => {
  expect(trackList([4, 1, 2, 4], 9)).toBe("1-2,4");
  expect(trackList(MANIFEST.tracks.keys(), MANIFEST.tracks.length)).toBe("");
});

describe("the peak of a counter", () => {
  const peak = (unit: string, high: number) => {
    const counter = { kind: "queue", unit, high } as TimelineCounter;
    return detailOf({ counter } as RowInfo).replaceAll("\u00a0", " ");
  };

  it("has its unit", () => {
    expect(peak("ns", 192_551)).toBe("max 193 µs");
    expect(peak("count", 1024)).toBe("max 1,024");
    expect(peak("ratio", 0.256)).toBe("max 26 %");
  });

  it("is that of all samples, with the lowest, where the recorder sampled", () => {
    const sampled = (unit: string, low: number, high: number) => {
      const counter = { kind: "counter", unit, low, high } as TimelineCounter;
      return detailOf({ counter } as RowInfo).replaceAll("\u00a0", " ");
    };
    expect(sampled("MHz", 1755, 1980)).toBe("1,755 to 1,980 MHz");
    expect(sampled("MHz", 2619, 2619)).toBe("2,619 MHz");
    expect(sampled("%", 0, 97.312)).toBe("0 to 97.31 %");
    expect(sampled("", 0, 8_689_877_034.79)).toBe("0 to 8.69 G");
  });

  it("is drawn above zero: a clock that falls by a tenth does not stop", () => {
    const clock = { ...(MANIFEST.counters[0] as TimelineCounter), low: 1755, high: 1980 };
    const { rows } = rowModel(
      align(recordingOf("a", { counters: [clock, { ...clock, key: "b", low: -4 }] }), [], "clock")
        .sources,
      UNARRANGED,
    );
    expect(rows.flatMap((row) => (row.type === "counter" ? [row.low] : []))).toEqual([0, -4]);
  });
});

it("names workers without the end that all share, where words begin", () => {
  expect(toldApart(["worker0_step_12", "worker10_step_12"])).toEqual(["worker0", "worker10"]);
  // What they share begins inside of a word.
  expect(toldApart(["rank10", "rank20"])).toEqual(["rank10", "rank20"]);
  expect(toldApart(["a_1", "a_1"])).toEqual(["a", "a"]);
  expect(toldApart(["alone"])).toEqual([""]);
});
