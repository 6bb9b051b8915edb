/** A small timeline for tests: two threads with Python frames, two streams, a counter, three steps. */
import type {
  AreaAnswer,
  Flame,
  FlowAnswer,
  SearchAnswer,
  SliceDetails,
  SliceRef,
  SliceRows,
  TimelineManifest,
  TimelineTrack,
} from "../src/api/types.gen";
import type { Recording } from "../src/views/timeline/state/sources";

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
    hidden: 0,
    note: "",
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
  layouts: ["merged", "split", "filtered", "user"],
  graph_streams: 0,
  is_folded: false,
  hidden: 0,
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
  head_ns: 0,
  compilations: [],
  steps: [15, 16, 17].map((number, index) => ({
    index,
    name: `ProfilerStep#${number}`,
    ts: index * 16_000_000,
    end: (index + 1) * 16_000_000,
    length_ns: 16_000_000,
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

export function sliceOf(slice: number, over: Partial<SliceRef> = {}): SliceRef {
  return {
    slice,
    name: "aten::conv2d",
    kind: 0,
    ts: 19_930_000,
    dur: 229_200,
    track: 0,
    lane: 2,
    ...over,
  };
}

/** The convolution of the design: launched a kernel, has a backward op. */
export const DETAILS: SliceDetails = {
  slice: sliceOf(9904),
  kind_label: "Operator",
  self_ns: 1000,
  step: "ProfilerStep#16",
  step_offset_ns: 3_930_000,
  track_label: "Main thread · ops",
  stream: "",
  depth: 43,
  wall_ns: "1712195495539619047",
  flags: [],
  peers: 60,
  median_ns: 63_700,
  rank: 1,
  ancestors: [
    sliceOf(1, { name: "train_ddp.py(82): train_step", kind: 2 }),
    sliceOf(2, { name: "nn.Module: ResNet_0", kind: 3 }),
    sliceOf(3, { name: "nn.Module: Conv2d_14", kind: 3 }),
  ],
  links: [
    {
      relation: "backward",
      label: "backward op",
      to: sliceOf(20_001, { name: "ConvolutionBackward0", ts: 26_459_200, dur: 105_800, track: 2 }),
      delay_ns: 6_300_000,
      count: 1,
    },
    {
      relation: "kernels",
      label: "1 of 6 kernels, 48.3 µs in all",
      to: sliceOf(47_001, {
        name: "igemm_fwd_gtcx3_nhwc_bf16",
        kind: 8,
        ts: 40_000_000,
        dur: 22_900,
        track: 4,
        lane: 0,
      }),
      delay_ns: 19_800_000,
      count: 6,
    },
  ],
  launch: { launch_ns: 4200, queued_ns: 29_900_000, run_ns: 22_900 },
  origin: null,
  args: [{ key: "Sequence number", text: "1249", cut: false }],
  args_missing: "",
  inputs: [
    ["[10, 256, 14, 14]", "c10::BFloat16"],
    ["[]", "Scalar"],
  ],
  stack: [
    { name: "forward", file: "torchvision/models/resnet.py", line: 89, slice: 4 },
    { name: "train_step", file: "train_ddp.py", line: 82, slice: 1 },
  ],
  stack_missing: "",
  source_file: "",
  source_line: 0,
};

export const SEARCH: SearchAnswer = {
  names: [{ name: 7, text: "aten::conv2d", kind: 0, slices: 117, total_ns: 8_820_000, first: 5 }],
  name_count: 1,
  codes: [7],
  slices: 117,
  total_ns: 8_820_000,
  density: [0, 3, 0, 1],
  tracks: { "0": 60, "2": 57 },
  problem: "",
};

export const AREA: AreaAnswer = {
  start_ns: 29_262_000,
  end_ns: 34_400_000,
  slices: 658,
  clipped: 1,
  total_ns: 4_100_000,
  row_count: 2,
  rows: [
    {
      name: 1,
      text: "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)",
      kind: 9,
      count: 3,
      total_ns: 2_350_000,
      self_ns: 2_350_000,
      min_ns: 6000,
      mean_ns: 785_000,
      p50_ns: 14_300,
      p95_ns: 2_330_000,
      max_ns: 2_330_000,
      share: 0.458,
      longest: 48_001,
    },
    {
      name: 2,
      text: "batched_transpose_16x32_half",
      kind: 8,
      count: 95,
      total_ns: 502_000,
      self_ns: 502_000,
      min_ns: 4000,
      mean_ns: 5280,
      p50_ns: 4400,
      p95_ns: 12_000,
      max_ns: 17_200,
      share: null,
      longest: 48_002,
    },
  ],
  devices: [
    {
      label: "GPU 2",
      busy_ns: 4_000_000,
      idle_ns: 1_138_000,
      compute_ns: 3_000_000,
      communication_ns: 2_000_000,
      overlap_ns: 1_200_000,
      copy_ns: 300_000,
      gaps: 40,
      unknown_ns: 0,
      longest_gap_ns: 700_000,
      longest_gap_ts: 30_000_000,
    },
  ],
  devices_missing: "",
  counters: [
    {
      series: 0,
      label: "Launches queued",
      unit: "count",
      low: 10,
      high: 1597,
      mean: 800.5,
      delta: -20,
    },
  ],
};

export const ROWS: SliceRows = {
  rows: [
    {
      slice: 47_002,
      name: "batched_transpose_16x32_half",
      kind: 8,
      track: 4,
      ts: 29_300_000,
      dur: 4400,
      self_ns: 4400,
      step: 1,
    },
  ],
  offset: 0,
  count: 1,
};

export const FLAME: Flame = {
  unit: "ns",
  total: 100_000,
  left_out: [],
  in_order: false,
  merged: 3,
  missing: "",
  nodes: [
    {
      node: 0,
      parent: -1,
      name: "main",
      kind: "python",
      value: 100_000,
      self_value: 1000,
      count: 1,
      boxes: 1,
      short: "",
      note: "",
    },
    {
      node: 1,
      parent: 0,
      name: "forward",
      kind: "module",
      value: 60_000,
      self_value: 60_000,
      count: 2,
      boxes: 1,
      short: "",
      note: "",
    },
  ],
};

export const FLOWS: FlowAnswer = {
  arrows: [{ kind: 1, source: sliceOf(9904), target: sliceOf(20_001, { track: 2 }), count: 1 }],
  count: 1,
};
