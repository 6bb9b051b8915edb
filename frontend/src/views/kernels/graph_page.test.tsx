import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, it, vi } from "vitest";
import { catalogOf, runOf } from "../../../test-fixtures/catalog";
import { openPage } from "../../../test-fixtures/page";
import { INFO, TRACE } from "../../../test-fixtures/resnet";
import { type FakeServer, fakeServer } from "../../../test-fixtures/server";
import type { Column, GraphPage, GraphRow, KernelRow, Kernels, NodeRow } from "../../api/types.gen";

const HOSTILE = "<img src=x onerror=alert(1)>";

const head = (key: string, label: string, more: Partial<Column> = {}): Column => ({
  key,
  label,
  help: "",
  kind: "value",
  is_minor: false,
  is_numeric: true,
  is_sortable: true,
  is_optional: false,
  unit: "",
  is_sum: false,
  ...more,
});
const NAME = { kind: "name", is_numeric: false } as const;
const NS = { unit: "ns" } as const;

// What these tests see of a row: a column that is added later changes nothing here.
const KERNEL = {
  key: "0",
  name: "outside graphs",
  short: "outside graphs",
  kernel_class: "",
  class_why: "",
  op: null,
  op_eligible: null,
  grid: null,
  block: null,
  registers: null,
  shared_bytes: null,
  calls: 1,
  total_ns: 6000,
  min_ns: 6000,
  mean_ns: 6000,
  p50_ns: 6000,
  p95_ns: 6000,
  max_ns: 6000,
  ratio: 0.3,
  tensor_core: "no",
  blocks_per_sm: null,
  light_ratio: null,
  waste_ns: null,
  bound: null,
  occupancy_percent: null,
  launch_ns: null,
  queue_ns: null,
  energy_j: null,
  power_w: null,
  sm_clock_mhz: null,
  sm_active_percent: null,
  dram_percent: null,
  memory_bound: false,
  fused: "",
  source: "",
  link: "correlation",
  longest: 9,
} as KernelRow;
const OUTSIDE: GraphRow = {
  ...KERNEL,
  number: null,
  device: null,
  batch: null,
  replays: null,
  nodes: null,
  node_ns: null,
  replay_min_ns: null,
  replay_p50_ns: null,
  replay_p95_ns: null,
  replay_max_ns: null,
  replay_ns: null,
  inside_idle_ns: null,
};
const GRAPH: GraphRow = {
  ...OUTSIDE,
  key: "1",
  name: "graph 5",
  calls: 6,
  total_ns: 14_000,
  ratio: 0.7,
  link: "graph",
  number: 5,
  device: "GPU 0",
  batch: "8, 16",
  replays: 2,
  nodes: 3,
  node_ns: 2333.3,
  replay_min_ns: 9000,
  replay_p50_ns: 9000,
  replay_p95_ns: 9500,
  replay_max_ns: 9500,
  replay_ns: 18_500,
  inside_idle_ns: 4000,
};
const TABLE = {
  columns: [
    head("name", "Name", NAME),
    head("batch", "Batch", { is_numeric: false, is_optional: true }),
    head("replays", "Replays", { is_optional: true }),
    head("nodes", "Nodes", { is_optional: true }),
    head("replay_p95_ns", "Replay p95", { ...NS, is_optional: true, is_minor: true }),
    head("total_ns", "Total", NS),
    head("tensor_core", "Matrix cores", { is_numeric: false }),
  ],
  rows: [GRAPH, OUTSIDE],
  offset: 0,
  count: 2,
  calls: 7,
  total_ns: 20_000,
  sort_by: "total_ns",
  step_count: 1,
};
const ANSWER: Kernels = {
  headline: "GEMM kernels take 28.6 % of the kernel time.",
  detail: "20 µs in 7 kernels.",
  step_count: 1,
  kernel_ns: 20_000,
  copies_ns: 0,
  kernels: [],
  classes: [],
  tensor_core: { yes: 0, no: 20_000, unknown: 0, none: 0 },
  cores_name: "Tensor cores",
  table: TABLE,
  copies_columns: [],
  copies: [],
  graph: null,
  nodes: null,
  devices: ["GPU 0"],
  missing: {},
  definitions: { inside_idle_ns: "Idle inside." },
};
const PAGE: GraphPage = {
  headline: "Graph 5 holds 70.0 % of the kernel time and is idle for 21.6 % of its replays.",
  detail: "2 replays of 3 nodes.",
  row: GRAPH,
  waits_columns: [
    head("kind", "Waited for", { is_numeric: false }),
    head("name", "Node", NAME),
    head("nodes", "Nodes"),
    head("idle_ns", "Idle", NS),
    head("ratio", "Share", { unit: "ratio" }),
    head("place", "Place", { is_optional: true, is_minor: true }),
  ],
  waits: [
    { kind: "host", name: "HostNode: log", nodes: 1, place: 2, idle_ns: 3000, ratio: 0.75, count: 2,
      inferred: false, longest: 77 },
    { kind: "latency", name: HOSTILE, nodes: 2, place: null, idle_ns: 1000, ratio: 0.25, count: 2,
      inferred: true, longest: 78 },
  ],
  waits_count: 2,
  quantiles: [
    { name: "min", ns: 9000, ratio: 1 },
    { name: "max", ns: 9500, ratio: 1.06 },
  ],
  replays: [{ slice: 5, ts: 100, dur_ns: 9500, idle_ns: 2000, nodes: 3, step: "", batch: 8 }],
  ops: [{ name: "aten::mm", kernels: 3, total_ns: 14_000, ratio: 1 }],
  ops_count: 1,
  capture: {
    state: "lent",
    text: "100 % of the kernel time has its launch in the recording job/capture.",
    run: "job/capture",
    worker: "worker0",
    span: "1",
    batch: 8,
    ratio: 1,
    matched: 3,
    kernels: 3,
    choices: [{ run: "job/capture", worker: "worker0" }],
  },
  missing: {},
}; // biome-ignore format: one wait a line
const nodeOf = (place: number, more: Partial<NodeRow> = {}): NodeRow => ({
  key: String(place),
  place,
  number: null,
  kind: "kernel",
  name: `kernel_${place}`,
  calls: 2,
  start_ns: 10 * place,
  total_ns: 100,
  mean_ns: 50,
  min_ns: 40,
  max_ns: 60,
  ratio: 0.3,
  waits_for: null,
  idle_ns: 0,
  op: null,
  shapes: null,
  module: null,
  stack: [],
  lent: false,
  longest: 40 + place,
  short: "",
  ...more,
});
const NODES = {
  columns: [
    head("name", "Node", NAME),
    head("op", "Captured operator", { ...NAME, is_optional: true }),
    head("mean_ns", "Mean", NS),
  ],
  rows: [
    nodeOf(1, {
      op: "aten::mm",
      shapes: "[[8,4],[4,4]]",
      module: "nn.Module: Linear_0",
      stack: ["model.py(3): forward", HOSTILE],
      lent: true,
    }),
    nodeOf(2, { kind: "host", name: "HostNode: log" }),
  ],
  offset: 0,
  count: 2,
  total_ns: 200,
  sort_by: "place",
};

let server: FakeServer;

beforeEach(() => {
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(480);
  server = fakeServer(catalogOf([runOf("resnet50", { workers: { worker0: ["ready"] } })]));
  const views = [
    ...INFO.views.filter(({ stem }) => stem !== "kernels"),
    { stem: "kernels", title: "Kernel", key: "k", question: "What runs on the device?" },
  ];
  server.answer("info", { ...INFO, views });
  const shown = { stem: "kernels", unavailable: null, badge: null };
  const others = TRACE.views.filter(({ stem }) => stem !== "kernels");
  server.answer("trace", { ...TRACE, views: [...others, shown] });
  server.answer("view/kernels", ANSWER);
  server.answer("view/kernels/table", TABLE);
  server.answer("view/kernels/graph", PAGE);
  server.answer("view/kernels/nodes", NODES);
});

const plain = (text: string | null | undefined) => text?.replaceAll("\u00a0", " ") ?? "";

it.each([
  ["0 %", { yes: 0, no: 20_000, unknown: 0, none: 0 }],
  ["25.0 %", { yes: 5000, no: 15_000, unknown: 0, none: 0 }],
  ["85.3 %", { yes: 17_060, no: 2938, unknown: 2, none: 0 }],
  ["85.3 % to 85.4 %", { yes: 17_060, no: 2920, unknown: 20, none: 0 }],
  ["25.0 % to 75.0 %", { yes: 5000, no: 5000, unknown: 10_000, none: 0 }],
  ["–", { yes: 0, no: 0, unknown: 20_000, none: 0 }],
  ["–", { yes: 0, no: 0, unknown: 0, none: 20_000 }],
])("has a tensor-core share of %s", async (words, tensor_core) => {
  server.answer("view/kernels", { ...ANSWER, tensor_core });
  openPage("#view=kernels&run=resnet50");
  const term = await screen.findByText("Tensor-core share");
  expect(plain(term.closest("p")?.querySelector("b")?.textContent)).toBe(words);
});

it("calls them matrix cores where the vendor does", async () => {
  server.answer("view/kernels", { ...ANSWER, cores_name: "Matrix cores" });
  openPage("#view=kernels&run=resnet50");
  expect(await screen.findByRole("region", { name: "Matrix cores and copies" })).toBeDefined();
  expect(screen.getByText("Matrix-core share")).toBeDefined();
  expect(await screen.findByRole("columnheader", { name: /^Matrix cores/ })).toBeDefined();
  expect(screen.queryByText(/tensor/i)).toBeNull();
});

it("groups kernels by graph, and forgets the order of other groups", async () => {
  openPage("#view=kernels&kernels.sort=occupancy_percent");
  await userEvent.click(await screen.findByRole("radio", { name: "Graph" }));
  const table = within(await screen.findByRole("treegrid", { name: "Kernels" }));
  const [, graph, outside] = table.getAllByRole("row");
  expect(plain(graph?.textContent)).toContain("graph 58, 1623");
  expect(plain(outside?.textContent)).toContain("outside graphs––");
  const asked = server.asked.filter(({ pathname }) => pathname.endsWith("kernels/table")).at(-1);
  expect(asked?.searchParams.get("group_by")).toBe("graph");
  expect(asked?.searchParams.get("sort_by") ?? "").toBe("");
  const link = table.getByRole("link", { name: "graph 5" });
  expect(link.getAttribute("href")).toContain("kernels.graph=1");
});

it("says why there is no graph", async () => {
  server.answer("view/kernels", { ...ANSWER, missing: { graphs: "No kernel was replayed." } });
  openPage("#view=kernels&kernels.group=graph");
  expect(await screen.findByText("No kernel was replayed.")).toBeTruthy();
  expect(screen.getByRole("radio", { name: "Graph" })).toHaveProperty("disabled", true);
});

it("shows one graph: waits, replays, and each node as a door to Trace", async () => {
  const { container } = openPage("#view=kernels&kernels.graph=1");
  expect(await screen.findByRole("heading", { level: 1, name: /Graph 5 holds/ })).toBeTruthy();
  const waits = within(screen.getByRole("region", { name: "Idle inside" }));
  const rows = waits.getAllByRole("row").slice(1);
  expect(rows.map((row) => plain(row.textContent))).toEqual([
    "host callHostNode: log13.00 µs75.0 %",
    `launch after, inferred${HOSTILE}21.00 µs25.0 %`,
  ]);
  const nodes = within(await screen.findByRole("treegrid", { name: "Nodes" }));
  const door = await nodes.findByRole("link", { name: "kernel_1" });
  expect(door.getAttribute("href")).toContain("timeline.select=41");
  expect(container.querySelector("img")).toBeNull();
});

it("marks what a capture-time recording lends", async () => {
  openPage("#view=kernels&kernels.graph=1&kernels.nodes.row=1");
  const nodes = within(await screen.findByRole("treegrid", { name: "Nodes" }));
  expect(await nodes.findByText("from the capture-time recording")).toBeTruthy();
  expect(nodes.getByText("model.py(3): forward")).toBeTruthy();
  expect(nodes.getByRole("columnheader", { name: /Captured operator/ })).toBeTruthy();
  expect(screen.getByText("Operators, from the capture-time recording")).toBeTruthy();
});

it("asks for the capture that someone chooses", async () => {
  openPage("#view=kernels&kernels.graph=1");
  const choice = await screen.findByRole("combobox", { name: "Recording of the capture" });
  await userEvent.selectOptions(choice, "job/capture · worker0");
  await screen.findByRole("heading", { level: 1, name: /Graph 5 holds/ });
  const asked = server.asked.filter(({ pathname }) => pathname.endsWith("kernels/graph")).at(-1);
  expect(asked?.searchParams.get("capture_run")).toBe("job/capture");
  expect(asked?.searchParams.get("capture_worker")).toBe("worker0");
});
