/** An answer of the Memory view: 3 MiB at the peak, two steps, a block of a module with a line. */
import type {
  AliveTree,
  BlockDetails,
  Memory,
  MemoryEventRow,
  StatisticsRow,
  StepsMemory,
} from "../src/api/types.gen";
import { HEADS } from "./heads.gen";

export const MIB = 2 ** 20;

const event = (change: Partial<MemoryEventRow>): MemoryEventRow => ({
  block: 0,
  name: "aten::mm",
  bytes: 2 * MIB,
  allocated_ns: 10e6,
  released_ns: 30e6,
  alive_ns: 20e6,
  life_start_ns: 10e6,
  life_end_ns: 30e6,
  category: "activation",
  module: "nn.Module: layer1",
  line: "net.py(7): forward",
  slice: 41,
  ...change,
});

export const EVENTS: readonly MemoryEventRow[] = [
  event({}),
  event({
    block: 1,
    name: "",
    bytes: MIB,
    allocated_ns: null,
    alive_ns: null,
    life_start_ns: null,
    category: "parameter",
    module: "",
    line: "",
    slice: null,
  }),
  event({
    block: 2,
    name: "aten::ones (aten::empty)",
    bytes: 512,
    released_ns: null,
    alive_ns: null,
    life_end_ns: null,
  }),
];

const STATISTICS: readonly StatisticsRow[] = [
  {
    name: "aten::mm",
    calls: 7,
    increase_bytes: 2 * MIB,
    self_increase_bytes: -MIB,
    allocations: 3,
    self_allocations: 1,
    allocation_bytes: 4 * MIB,
    self_allocation_bytes: MIB,
  },
];

export const eventTable = (rows: readonly MemoryEventRow[] = EVENTS) => ({
  columns: HEADS.MemoryEventRow,
  rows,
  offset: 0,
  count: rows.length,
  bytes: 3 * MIB,
  largest_bytes: 2 * MIB,
  missing: "",
});

export const statisticsTable = (rows: readonly StatisticsRow[] = STATISTICS) => ({
  columns: HEADS.StatisticsRow,
  rows,
  offset: 0,
  count: rows.length,
  increase_bytes: MIB,
  allocations: 3,
  allocation_bytes: 4 * MIB,
});

export const MEMORY: Memory = {
  failure: null,
  is_snapshot: false,
  headline: "Activations fill 66.7 % of the peak of 3.00 MiB.",
  detail: "Without any activations the peak would be 1.00 MiB.",
  device: "cuda:0",
  devices_columns: HEADS.MemoryDeviceRow,
  devices: [
    {
      key: "cuda:0",
      label: "GPU 0 · V100",
      type: "cuda",
      events: 6,
      capacity_bytes: 8 * MIB,
      peak_bytes: 3 * MIB,
      peak_reserved_bytes: 4 * MIB,
      has_blocks: true,
      missing: {},
    },
    {
      key: "cpu",
      label: "CPU",
      type: "cpu",
      events: 2,
      capacity_bytes: null,
      peak_bytes: 512,
      peak_reserved_bytes: null,
      has_blocks: true,
      missing: { before: "What came before is not in these totals." },
    },
  ],
  start_ns: 0,
  end_ns: 100e6,
  recording_end_ns: 100e6,
  steps: [
    { name: "ProfilerStep#1", number: 1, start_ns: 0, end_ns: 50e6 },
    { name: "ProfilerStep#2", number: 2, start_ns: 50e6, end_ns: 100e6 },
  ],
  peak: {
    ts: 10e6,
    bytes: 3 * MIB,
    reserved_bytes: 4 * MIB,
    step: "ProfilerStep#1",
    categories: [
      {
        category: "activation",
        label: "Activations",
        bytes: 2 * MIB,
        ratio: 2 / 3,
        confidence: "high",
        why: "Released in a backward pass.",
      },
      {
        category: "parameter",
        label: "Parameters",
        bytes: MIB,
        ratio: 1 / 3,
        confidence: "medium",
        why: "There before the recording.",
      },
    ],
  },
  second: {
    ts: 60e6,
    bytes: 2 * MIB,
    reserved_bytes: null,
    step: "ProfilerStep#2",
    categories: [],
  },
  without_columns: HEADS.WithoutCategory,
  without: [{ category: "activation", label: "Activations", peak_bytes: MIB, gain_bytes: 2 * MIB }],
  head_room: {
    capacity_bytes: 8 * MIB,
    reserved_bytes: 4 * MIB,
    free_bytes: 4 * MIB,
    ratio: 0.5,
    sentence: "4.00 MiB of 8.00 MiB are reserved at most.",
  },
  growth: {
    verdict: "none",
    bytes_per_step: 0,
    rising: 0,
    steps: 5,
    sentence: "No leak over 5 steps.",
  },
  churn: {
    allocations_per_step: 3,
    bytes_per_step: 4 * MIB,
    reuse_ratio: 4 / 3,
    device_calls: 0,
    device_ns: 0,
    sentence: "3 allocations per step.",
  },
  curve: {
    device: "cuda:0",
    start_ns: 0,
    end_ns: 100e6,
    ts: [0, 10e6, 30e6, 100e6],
    allocated: [MIB, 3 * MIB, MIB, MIB],
    reserved: [4 * MIB, 4 * MIB, 4 * MIB, 4 * MIB],
    layers: [
      { key: "parameter", label: "Parameters", values: [MIB, MIB, MIB, MIB] },
      { key: "activation", label: "Activations", values: [0, 2 * MIB, 0, 0] },
    ],
    is_change: false,
    events: 2,
    is_exact: true,
    peak_ns: 10e6,
    peak_bytes: 3 * MIB,
  },
  statistics: statisticsTable(),
  events: eventTable(),
  categories: { parameter: "Parameters", activation: "Activations", unknown: "Unknown" },
  rules: [],
  missing: {},
};

export const ALIVE: AliveTree = {
  ts: 10e6,
  bytes: 3 * MIB,
  missing: "",
  nodes: (
    [
      [-1, "category", "", "activation", 2],
      [0, "module", "nn.Module: layer1", "activation", 2],
      [1, "op", "aten::mm", "activation", 2],
      [2, "size", "", "activation", 2],
      [-1, "category", "", "parameter", 1],
      [4, "op", "", "parameter", 1],
      [5, "size", "", "parameter", 1],
    ] as const
  ).map(([parent, kind, name, category, mib]) => ({
    parent,
    kind,
    name,
    category,
    bytes: mib * MIB,
    count: 1,
    each_bytes: kind === "size" ? mib * MIB : null,
    line: kind === "size" && category === "activation" ? "net.py(7): forward" : "",
    block: kind === "size" ? 0 : null,
    slice: kind === "size" && category === "activation" ? 41 : null,
    confidence: "high" as const,
    why: "Released in a backward pass.",
  })),
};

export const BLOCK: BlockDetails = {
  block: 0,
  device: "cuda:0",
  bytes: 2 * MIB,
  address: "0x7f00",
  life_start_ns: 10e6,
  life_end_ns: 30e6,
  category: "activation",
  label: "Activations",
  confidence: "high",
  why: "Released in a backward pass.",
  ops: ["aten::linear", "aten::mm"],
  module: "nn.Module: layer1",
  line: "net.py(7): forward",
  slice: 41,
  release_ops: [],
  release_slice: null,
  step: "ProfilerStep#1",
};

export const STEPS: StepsMemory = {
  columns: HEADS.StepMemoryRow,
  rows: [1, 2].map((number) => ({
    name: `ProfilerStep#${number}`,
    number,
    counts: number > 1,
    start_bytes: MIB,
    end_bytes: MIB,
    peak_bytes: 3 * MIB,
    allocations: 3,
    allocated_bytes: 4 * MIB,
    device_calls: 0,
    device_ns: 0,
  })),
  growth: MEMORY.growth,
  churn: MEMORY.churn,
  sites: [],
  causes: [],
  missing: "",
};
