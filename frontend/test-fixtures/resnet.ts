/**
 * The first screen of a real training: ResNet-50 on one of four V100, six steps, the DataLoader in
 * the launching thread. Figures in µs as recorded; the answers are what the server makes of them.
 */
import {
  CONTRACT,
  type Finding,
  type Gauge,
  type Info,
  type Overview,
  type Share,
  type StepRow,
  type SummaryRow,
  type TraceInfo,
  VERSION,
} from "../src/api/types.gen";
import { HEADS } from "./heads.gen";

/** step, length, compute, copy, memset, idle: loader, host, launch API, unattributed */
const PARTITION = [
  [5, 187948, 98598, 1941, 90, 69317, 15274, 1613, 1115],
  [6, 175153, 98570, 1947, 89, 57669, 14180, 1550, 1148],
  [7, 179733, 98596, 1931, 91, 61257, 14995, 1650, 1213],
  [8, 174564, 98623, 1938, 89, 56453, 14683, 1578, 1200],
  [9, 182172, 98504, 1937, 87, 62690, 16210, 1603, 1141],
  [10, 165983, 98641, 1798, 88, 48185, 13969, 2185, 1117],
] as const;

/** kernel, memcpy, memset, runtime, loader, CPU exec, other */
const BREAKDOWN = [
  [98598, 1941, 90, 2796, 69317, 14091, 1115],
  [98570, 1947, 89, 2762, 57669, 12968, 1148],
  [98596, 1931, 91, 2877, 61257, 13768, 1213],
  [98623, 1938, 89, 2841, 56453, 13420, 1200],
  [98504, 1937, 87, 2788, 62690, 15025, 1141],
  [98641, 1798, 88, 3381, 48185, 12773, 1117],
] as const;

const US = 1000;

export const STEPS: readonly StepRow[] = PARTITION.map((row, index) => {
  const [number, dur, compute, copy, memset, loader, cpu, runtime, unattributed] = row;
  const [kernel = 0, memcpy = 0, set = 0, calls = 0, data = 0, exec = 0, other = 0] =
    BREAKDOWN[index] ?? [];
  return {
    index,
    number,
    name: `ProfilerStep#${number}`,
    dur_ns: dur * US,
    chosen: true,
    outlier: false,
    excluded: null,
    breakdown: {
      kernel_ns: kernel * US,
      memcpy_ns: memcpy * US,
      memset_ns: set * US,
      communication_ns: 0,
      runtime_ns: calls * US,
      dataloader_ns: data * US,
      cpu_exec_ns: exec * US,
      other_ns: other * US,
    },
    partition: {
      compute_ns: compute * US,
      exposed_communication_ns: 0,
      exposed_copy_ns: copy * US,
      memset_ns: memset * US,
      idle_ns: (loader + cpu + runtime + unattributed) * US,
      overlap_ns: 0,
      idle_dataloader_ns: loader * US,
      idle_capture_ns: 0,
      idle_compile_ns: 0,
      idle_gc_ns: 0,
      idle_allocator_ns: 0,
      idle_blocking_ns: 0,
      idle_communication_ns: 0,
      idle_optimizer_ns: 0,
      idle_dispatch_ns: cpu * US,
      idle_python_ns: 0,
      idle_launch_ns: runtime * US,
      idle_first_launch_ns: 0,
      idle_profiler_ns: 0,
      idle_uninstrumented_ns: 0,
      idle_latency_ns: 0,
      idle_kernel_gap_ns: 0,
      idle_device_wait_ns: 0,
      idle_graph_ns: 0,
      idle_before_ns: 0,
      idle_unattributed_ns: unattributed * US,
    },
    host: null,
  };
});

const TOTAL = STEPS.reduce((total, step) => total + step.dur_ns, 0);
const meanOf = (value: (step: StepRow) => number) =>
  STEPS.reduce((total, step) => total + value(step), 0) / STEPS.length;
const MEAN = meanOf((step) => step.dur_ns);

const PARTS: readonly (readonly [
  keyof NonNullable<StepRow["partition"]>,
  string,
  string,
  boolean,
])[] = [
  ["compute_ns", "Compute", "compute", false],
  ["exposed_communication_ns", "Exposed communication", "comm", false],
  ["exposed_copy_ns", "Exposed copy", "memcpy", false],
  ["memset_ns", "Memset", "memset", false],
  ["idle_dataloader_ns", "Idle: DataLoader", "loader", true],
  ["idle_dispatch_ns", "Idle: host dispatch", "cpu", true],
  ["idle_launch_ns", "Idle: launch API", "runtime", true],
  ["idle_blocking_ns", "Idle: blocking call", "memcpy", true],
  ["idle_unattributed_ns", "Idle: unattributed", "other", true],
];

const SHARES: readonly Share[] = PARTS.map(([key, label, category, ghost]) => {
  const mean_ns = meanOf((step) => step.partition?.[key] ?? 0);
  return {
    key,
    label,
    category,
    ghost,
    mean_ns,
    ratio: mean_ns / MEAN,
    help: `What ${label} means.`,
    link:
      key === "idle_launch_ns"
        ? { text: "The longest: cudaFree", view: "timeline", params: { at: "100-900" }, url: "" }
        : null,
  };
});

const CATEGORIES: readonly (readonly [keyof StepRow["breakdown"], string, string])[] = [
  ["kernel_ns", "Kernel", "compute"],
  ["memcpy_ns", "Memcpy", "memcpy"],
  ["memset_ns", "Memset", "memset"],
  ["communication_ns", "Communication", "comm"],
  ["runtime_ns", "Runtime", "runtime"],
  ["dataloader_ns", "DataLoader", "loader"],
  ["cpu_exec_ns", "CPU exec", "cpu"],
  ["other_ns", "Other", "other"],
];

export const SUMMARY: readonly SummaryRow[] = [
  { key: "step", label: "Step", category: "", mean_ns: MEAN, ratio: 1, help: "The mean step." },
  ...CATEGORIES.map(([key, label, category]) => {
    const mean_ns = meanOf((step) => step.breakdown[key] ?? 0);
    return { key, label, category, mean_ns, ratio: mean_ns / MEAN, help: `What ${label} means.` };
  }),
];

export const gaugeOf = (label: string, ratio: number | null, reason = ""): Gauge => ({
  key: label.toLowerCase().replaceAll(/\W+/g, "_"),
  label,
  ratio,
  reason,
  help: `What ${label} means.`,
});

const idleOf = (key: "idle_dataloader_ns" | "idle_dispatch_ns") =>
  meanOf((step) => step.partition?.[key] ?? 0);

export const findingOf = (over: Partial<Finding>): Finding => ({
  id: "X1",
  title: "A finding",
  severity: "low",
  confidence: 0.9,
  text: "",
  snippet: "",
  evidence: [],
  gain: null,
  scope: "6 of 6 steps, GPU 0",
  links: [],
  verify: "",
  events: [],
  action: "",
  frame: "",
  headline: "",
  agreeing: 0,
  ...over,
});

const FINDINGS: readonly Finding[] = [
  findingOf({
    id: "IN1",
    title: "Input-bound: load batches in worker processes",
    severity: "high",
    text: "The GPU idles 59.3 ms per step while the launching thread prepares the batch (48–69 ms, all 6 steps).",
    snippet: "DataLoader(dataset, batch_size=32, num_workers=4, pin_memory=True)  # now 0",
    evidence: [
      { name: "idle while in the DataLoader", value: 59_261_833, unit: "ns", threshold: null },
      { name: "share of the step", value: 0.3337, unit: "ratio", threshold: 0.05 },
    ],
    gain: {
      ns_per_step: idleOf("idle_dataloader_ns"),
      ratio: idleOf("idle_dataloader_ns") / MEAN,
      method: "All idle time while a launching thread was in the DataLoader.",
      claims: ["idle_dataloader_ns"],
      shared_ns_per_step: 0,
    },
    links: [
      { text: "Longest step", view: "overview", params: { steps: "0" }, url: "" },
      { text: "DataLoader row in Operator", view: "operators", params: {}, url: "" },
      {
        text: "What this measures",
        view: "",
        params: {},
        url: "https://pytorch.org/docs/stable/data.html",
      },
    ],
    verify: "Record again: *Idle: DataLoader* is below 5 % of the step.",
    events: [
      {
        name: "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
        slice: 4711,
        event: 812,
        ts: 1_000_000,
        dur_ns: 68_700_000,
        step: "ProfilerStep#7",
        link: {
          text: "enumerate(DataLoader)",
          view: "timeline",
          params: { at: "0-90000000", select: "4711" },
          url: "",
        },
      },
    ],
  }),
  findingOf({
    id: "TC1",
    title: "Tensor cores are never used",
    severity: "high",
    text: "67.7 % of kernel time is convolutions in `float32` that could run on them. Ceiling: 8× faster if compute-bound.",
    gain: {
      ns_per_step: 58_400_000,
      ratio: 0.3288,
      method: "7/8 of it.",
      claims: ["compute_ns"],
      shared_ns_per_step: 0,
    },
    links: [{ text: "What Health says", view: "health", params: {}, url: "" }],
  }),
  findingOf({
    id: "HD3",
    title: "Host dispatch starves the GPU in the optimizer",
    text: "`SGD.step` launches 644 small kernels one by one and the queue runs dry; `foreach=True` batches them.",
    gain: {
      ns_per_step: 6_000_000,
      ratio: 0.034,
      method: "The idle time.",
      claims: ["idle_cpu"],
      shared_ns_per_step: 0,
    },
  }),
  findingOf({
    id: "IN4",
    title: "Batches are copied from pageable memory",
    text: "19.3 MB per step at 10.1 GB/s from pageable memory, nothing overlaps it. Pin it.",
    gain: {
      ns_per_step: 1_900_000,
      ratio: 0.0108,
      method: "The copies.",
      claims: ["exposed_copy"],
      shared_ns_per_step: 0,
    },
  }),
];

export const OVERVIEW: Overview = {
  sentence: {
    headline: "The GPU waits for the DataLoader for a third of every step.",
    detail:
      "Of a mean step of 177.6 ms it is busy for 100.6 ms. For 59.3 ms nothing is queued because `_SingleProcessDataLoaderIter.__next__` runs on the thread that launches kernels.",
    agreement: "in 6 of 6 steps",
    cause: "idle_dataloader_ns",
    beyond:
      "For 59.3 ms nothing is queued because `_SingleProcessDataLoaderIter.__next__` runs on the thread that launches kernels.",
  },
  noun: "step",
  device_type: "GPU",
  device_row: 0,
  ruler: {
    title: "Mean step on GPU 0",
    total_ns: TOTAL,
    step_count: 6,
    mean_ns: MEAN,
    shares: SHARES,
    overlap_ns: 0,
    busy_ns: meanOf((step) => step.dur_ns - (step.partition?.["idle_ns"] ?? 0)),
    idle_ns: meanOf((step) => step.partition?.["idle_ns"] ?? 0),
  },
  steps: STEPS,
  step_source: "",
  summary: SUMMARY,
  devices: [0, 1, 2, 3].map((row) => ({
    index: row,
    row,
    type: "GPU",
    name: "Tesla V100-DGXS-32GB",
    memory_bytes: 34_084_028_416,
    capability: "7.0",
    used: row === 0,
    gauges:
      row === 0
        ? [
            gaugeOf("Utilization", 0.55514),
            gaugeOf("Est. SM efficiency", 0.54679),
            gaugeOf("Est. achieved occupancy", 0.49128),
            gaugeOf("Tensor-core time", 0),
          ]
        : [],
  })),
  gaps_columns: HEADS.IdleGap,
  gaps: [],
  measured: null,
  serving: null,
  figures: [],
  configuration: [
    { label: "Device type", value: "GPU" },
    { label: "Devices", value: "1 of 4 visible GPUs used" },
    { label: "Device", value: "Tesla V100-DGXS-32GB, 31.7 GiB" },
    { label: "Steps", value: "6" },
    { label: "DataLoader", value: "`_SingleProcessDataLoaderIter`" },
  ],
  unanswered: null,
  findings: FINDINGS,
  unchecked: [
    {
      needs: "allocator events with addresses",
      rules: [{ id: "ME1", title: "Memory leak" }],
    },
    {
      needs: "Python frames or module names",
      rules: [{ id: "MO2", title: "Work split by module" }],
    },
  ],
  rule_count: 7,
  missing: {},
  taints: [],
  waiting: 0,
};

export const TRACE: TraceInfo = {
  digest: "digest-1",
  run: "resnet50_num_workers_0",
  worker: "worker0",
  span: "1",
  rank: null,
  device_type: "GPU",
  step_source: "",
  noun: "step",
  steps: STEPS.map(({ index, number, name, dur_ns, excluded, outlier }) => ({
    index,
    phase: "",
    number,
    name,
    dur_ns,
    excluded,
    outlier,
  })),
  views: [
    { stem: "overview", unavailable: null, badge: 4 },
    { stem: "health", unavailable: null, badge: 2 },
  ],
  note_count: 2,
  worst: "warning",
};

export const INFO: Info = {
  version: VERSION,
  release: VERSION,
  contract: CONTRACT,
  reader: "python",
  host: "standalone",
  vscode: false,
  saves: true,
  views: [
    { stem: "overview", title: "Overview", key: "o", question: "Where did the step's time go?" },
    { stem: "health", title: "Health", key: "h", question: "What was read, what is missing?" },
  ],
  recipe:
    'from kinetoscope.handlers import tensorboard_trace_handler\n\nwith torch.profiler.profile(\n    on_trace_ready=tensorboard_trace_handler("./log"),\n) as prof:\n    for batch in loader:\n        train(batch)\n        prof.step()\n',
};
