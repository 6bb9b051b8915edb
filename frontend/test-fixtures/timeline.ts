/** A small timeline for tests: two threads with Python frames, two streams, a counter, three steps. */
import type { TimelineManifest, TimelineTrack } from "../src/api/types.gen";
import type { Recording } from "../src/views/timeline/sources";

export function trackOf(key: string, over: Partial<TimelineTrack> = {}): TimelineTrack {
  return {
    key,
    group: 0,
    kind: "thread",
    label: key,
    detail: "",
    lanes: 3,
    slices: 100,
    busy_ns: 1_000_000,
    first_ns: 0,
    last_ns: 48_000_000,
    overlaps: 0,
    ...over,
  };
}

export const MANIFEST: TimelineManifest = {
  base_ns: "1712195495519689047",
  start_ns: 0,
  end_ns: 48_000_000,
  events: 56_451,
  slices: 51_200,
  name_count: 700,
  layout: "split",
  layouts: ["merged", "split", "filtered"],
  tile_buckets: 512,
  lane_block: 16,
  max_level: 54,
  groups: [
    { key: "process/542", kind: "process", label: "Process 542 · rank 0" },
    { key: "device/2", kind: "device", label: "GPU 2 · AMD Instinct MI300X" },
  ],
  tracks: [
    trackOf("thread/542/542/ops", {
      label: "Main thread · ops",
      detail: "thread 542",
      busy_ns: 40_000_000,
      lanes: 6,
      slices: 9000,
    }),
    trackOf("thread/542/542/python", {
      kind: "python",
      label: "Main thread · Python",
      busy_ns: 47_000_000,
      lanes: 47,
      slices: 30_000,
    }),
    trackOf("thread/542/639/ops", {
      label: "Autograd · ops",
      detail: "thread 639",
      lanes: 7,
      slices: 4000,
    }),
    trackOf("thread/542/639/python", {
      kind: "python",
      label: "Autograd · Python",
      lanes: 21,
      slices: 6000,
    }),
    trackOf("stream/2/0", {
      group: 1,
      kind: "stream",
      label: "Stream 0 · compute",
      lanes: 1,
      slices: 2000,
    }),
    trackOf("stream/2/4", {
      group: 1,
      kind: "stream",
      label: "Stream 4 · RCCL",
      lanes: 1,
      slices: 200,
    }),
  ],
  counters: [
    {
      key: "queue/2",
      group: 1,
      kind: "queue",
      label: "Launches queued",
      unit: "count",
      definition: "Launched and not yet begun.",
      samples: 900,
      low: 0,
      high: 1597,
      first_ns: 0,
      last_ns: 48_000_000,
    },
  ],
  kinds: [
    { kind: 0, stem: "op", label: "op", slices: 13_000 },
    { kind: 2, stem: "python", label: "Python", slices: 36_000 },
    { kind: 8, stem: "compute", label: "kernel", slices: 2000 },
    { kind: 9, stem: "communication", label: "collective", slices: 200 },
  ],
  flow_kinds: [
    { kind: 0, label: "launch → kernel", arrows: 2200 },
    { kind: 1, label: "forward → backward", arrows: 300 },
  ],
  steps: [15, 16, 17].map((number, index) => ({
    index,
    name: `ProfilerStep#${number}`,
    ts: index * 16_000_000,
    end: (index + 1) * 16_000_000,
  })),
  warnings: [],
  missing: {},
};

export function recordingOf(worker: string, over: Partial<TimelineManifest> = {}): Recording {
  return {
    worker,
    key: { run: "run", worker, span: "1" },
    digest: `digest-${worker}`,
    manifest: { ...MANIFEST, ...over },
  };
}
