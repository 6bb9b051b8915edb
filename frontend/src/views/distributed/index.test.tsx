import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { catalogOf, progressOf, runOf } from "../../../test-fixtures/catalog";
import { HEADS } from "../../../test-fixtures/heads.gen";
import { openPage } from "../../../test-fixtures/page";
import { INFO, TRACE } from "../../../test-fixtures/resnet";
import { type FakeServer, fakeServer } from "../../../test-fixtures/server";
import type { Distributed, DistributedRank, RankCell } from "../../api/types.gen";
import { arrange } from "./layout";
import { linesOf, rampStep } from "./rank_names";

const HOSTILE = "<img src=x onerror=alert(1)>";
const plain = (text: string | null | undefined) => text?.replaceAll("\u00a0", " ") ?? "";

const rankOf = (rank: number, more: Partial<DistributedRank> = {}): DistributedRank => ({
  worker: `worker${rank}`,
  rank,
  used: true,
  problem: "",
  node: `node${Math.floor(rank / 8)}`,
  process: "",
  role: "",
  device: "H100",
  device_index: "0",
  memory_bytes: 80 * 2 ** 30,
  capability: "9.0",
  step: {
    compute_ns: 600_000,
    overlap_ns: 0,
    communication_ns: 300_000,
    copy_ns: 0,
    idle_ns: 100_000,
    length_ns: 1_000_000,
    synchronizing_ns: 200_000,
    transferring_ns: 100_000,
  },
  busy_ratio: 0.9,
  own_ns: 700_000,
  excess_ns: rank === 1 ? 100_000 : 0,
  cost_ns: rank === 1 ? 400_000 : 0,
  lost_ns: rank === 1 ? 0 : 200_000,
  times_last: rank === 1 ? 3 : 0,
  brought_in_ns: 0,
  inherited_ns: null,
  inherited_from: null,
  received_bytes: null,
  gain_ns: null,
  uncertainty_ns: null,
  ...more,
});

const cells = (ranks: number, columns: number): RankCell[] =>
  Array.from({ length: ranks }, (_, rank) => ({
    values: Array.from({ length: columns }, () => (rank === 1 ? 0 : 200_000)),
    last: Array.from({ length: columns }, () => rank === 1),
  }));

const answerOf = (ranks: number, steps: number, more: Partial<Distributed> = {}): Distributed => ({
  headline: "Rank 1 needs 20 % more time of its own.",
  detail: "In each step the ranks wait 400 µs for each other.",
  ranks_columns: HEADS.DistributedRank,
  step_columns: HEADS.RankStep,
  nodes_columns: HEADS.DistributedNode,
  groups_columns: HEADS.DistributedGroup,
  table_columns: HEADS.DistributedCollective.filter(({ key }) => key !== "step" && key !== "group"),
  pipeline_columns: HEADS.PipelineStage,
  ranks: Array.from({ length: ranks }, (_, rank) => rankOf(rank)),
  read: ranks,
  waiting: 0,
  world_size: ranks,
  missing: "",
  notes: [],
  step_count: steps,
  total_wait_ns: 400_000,
  blame_ranks: 1,
  blame: [
    [0, 0, 0],
    [200_000, 0, 200_000],
    [0, 0, 0],
  ],
  clocks: "The ranks share one host's clock.",
  steps: {
    columns: Array.from({ length: steps }, (_, step) => String(step + 1)),
    details: [],
    waiting: cells(ranks, steps),
    own: [],
    start: [],
    links: Array.from({ length: steps }, (_, step) => ({
      text: "",
      view: "timeline",
      params: { steps: String(step + 1) },
      url: "",
    })),
  },
  collectives: {
    columns: ["all_reduce"],
    details: ["1.00 MiB"],
    waiting: cells(ranks, 1),
    own: [],
    start: [],
    links: [],
  },
  nodes: [],
  groups: [
    {
      key: "0-2",
      shape: "3x1",
      alike: 1,
      label: HOSTILE,
      backend: "nccl",
      size: 3,
      missing: "",
      role: "data parallel",
      why: "gradients are reduced over its ranks",
      operations: "1 all_reduce",
      bytes: 1 << 20,
      exposed_ns: 300_000,
      blocking_ns: 100_000,
      exposed_by_step: Array.from({ length: steps }, () => 300_000),
      blocking_by_step: Array.from({ length: steps }, (_, step) => step * 100_000),
      note: "",
    },
  ],
  layout: {
    text: `DP ${ranks}`,
    axes: [{ name: "DP", size: ranks }],
    cells: Array.from({ length: ranks }, (_, rank) => ({ rank, row: rank, place: [rank] })),
  },
  table: [
    {
      number: 1,
      step: "1",
      group: "world",
      operation: "all_reduce",
      bytes: 1 << 20,
      ranks: 3,
      skew_ns: 200_000,
      waiting_ns: 400_000,
      transfer_ns: 100_000,
      algorithm_gbs: 10.5,
      bus_gbs: 14,
      last: 1,
      tied: 0,
      match: "sequence",
      verdict: "",
      link: { text: "", view: "timeline", params: { at: "5-9", worker: "worker1" }, url: "" },
    },
  ],
  count: 1,
  unmatched: 0,
  bandwidth: [],
  findings: [],
  unchecked: [],
  pipeline: [],
  pipeline_text: "",
  experts_text: "",
  replay: "What if is not available: Rank 3 is missing from a group.",
  look_at: [
    { rank: 1, kind: "late" },
    { rank: 0, kind: "waits most" },
    { rank: 2, kind: "median" },
  ],
  logs: false,
  reasons: { own: "The recordings cannot be replayed.", start: "Clocks disagree." },
  ...more,
});

const REFUSED = {
  refused: "Rank 3 is missing from a group.",
  sentence: "",
  step_ns: null,
  edited_ns: null,
  gain_ns: null,
  error_median: null,
  error_most: null,
};
const runs = [runOf("resnet50", { workers: { worker0: ["ready"], worker1: ["ready"] } })];
let server: FakeServer;

beforeEach(() => {
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(480);
  server = fakeServer(catalogOf(runs));
  const stem = "distributed";
  const views = [
    ...INFO.views,
    { stem: "timeline", title: "Trace", key: "t", question: "What ran when?" },
    { stem, title: "Distributed", key: "d", question: "Who waits?" },
  ];
  server.answer("info", { ...INFO, views });
  const shown = [stem, "timeline"].map((one) => ({ stem: one, unavailable: null, badge: null }));
  server.answer("trace", { ...TRACE, views: [...TRACE.views, ...shown] });
  server.answer("view/distributed", answerOf(3, 3));
  server.answer("view/distributed/ops", { columns: HEADS.RankOperation, rows: [], reason: "" });
  server.answer("view/distributed/what_if", REFUSED);
});

const panel = async (name: RegExp | string) => within(await screen.findByRole("region", { name }));

it("says first who makes the others wait, and leads to three ranks in Trace", async () => {
  openPage("#view=distributed");
  expect(plain((await screen.findByRole("heading", { level: 1 })).textContent)).toContain(
    "Rank 1 needs 20 % more",
  );
  const link = screen.getByRole("link", { name: "Open in Trace" });
  expect(link.getAttribute("href")).toContain("worker=worker1");
  expect(link.getAttribute("href")).toContain("timeline.workers=worker0");
});

it("leads from a cell to the step of its rank, and from a collective to its place", async () => {
  const { user } = openPage("#view=distributed");
  const cell = await screen.findByTitle(/^rank 2, step 3/);
  const door = within(cell).getByRole("link").getAttribute("href");
  expect(door).toContain("worker=worker2");
  expect(door).toContain("steps=3");
  const rows = within(await screen.findByRole("region", { name: "Collectives" }));
  await user.click(rows.getByText("all_reduce"));
  expect(window.location.hash).toContain("view=timeline");
  expect(window.location.hash).toContain("timeline.at=5-9");
  expect(window.location.hash).toContain("worker=worker1");
});

it("leads to Trace only where it shows the recording", async () => {
  const views = [
    { stem: "distributed", unavailable: null, badge: null },
    { stem: "timeline", unavailable: "Nothing lasts.", badge: null },
  ];
  server.answer("trace", { ...TRACE, views: [...TRACE.views, ...views] });
  openPage("#view=distributed");
  await screen.findByRole("heading", { level: 1 });
  expect(screen.queryByText("Open these ranks together")).toBeNull();
});

it("says of bandwidth that is missing what the server says", async () => {
  const reasons = { bandwidth: "The recording does not say how much its collectives moved." };
  server.answer("view/distributed", answerOf(3, 3, { reasons }));
  openPage("#view=distributed");
  const shown = await panel("Bandwidth against size");
  expect(shown.getByText(/^Bandwidth is not available\. The recording does not say/)).toBeTruthy();
  expect(shown.queryByText(/record_shapes/)).toBeNull();
});

it.each([
  [1, "own window, one step, "],
  [3, "own window, mean of 3 steps, "],
])("says of how many steps each rank's step is: %d", async (steps, words) => {
  server.answer("view/distributed", answerOf(3, steps));
  openPage("#view=distributed");
  const shown = await panel("Each rank's step");
  expect(shown.getByText((text) => text.startsWith(words))).toBeTruthy();
});

it("says how many are read, names nobody, and compares those that are there when asked", async () => {
  const nothing = { columns: [], details: [], waiting: [], own: [], start: [], links: [] };
  const half = {
    headline: "2 of 4 ranks are read so far.",
    ranks: [rankOf(0), rankOf(1)].map((one) => ({
      ...one,
      used: false,
      problem: "read; compared when all are",
      step: null,
      busy_ratio: null,
      own_ns: null,
      excess_ns: null,
      cost_ns: null,
      inherited_ns: null,
      lost_ns: null,
      times_last: null,
      received_bytes: null,
      node: "",
    })),
    read: 2,
    waiting: 2,
    look_at: [],
    steps: nothing,
    collectives: nothing,
    groups: [],
    table: [],
    count: 0,
    step_count: 0,
  };
  server.answer("view/distributed", answerOf(4, 3, half));
  openPage("#view=distributed");
  const bar = await screen.findByRole("progressbar", { name: "Ranks read" });
  expect([bar.getAttribute("aria-valuenow"), bar.getAttribute("aria-valuemax")]).toEqual([
    "2",
    "4",
  ]);
  expect(screen.queryByText("Open these ranks together")).toBeNull();
  expect(screen.queryByRole("region", { name: "Who cost, who lost" })).toBeNull();
  const ranks = await panel("Devices and ranks");
  expect(ranks.getAllByTitle(/names no host/)).toHaveLength(2);
  const heads = ranks.getAllByRole("columnheader").map((one) => one.textContent);
  expect(heads).toEqual(["Worker", "Rank", "Node", "Role", "Problem", "Device"]);
  expect(ranks.getAllByRole("cell", { name: "read; compared when all are" })).toHaveLength(2);
  await userEvent.click(screen.getByRole("button", { name: "Compare the 2 that are read" }));
  expect(server.asked.at(-1)?.search).toContain("so_far");
});

it("shows what each rank cost and lost, and that both sums are one", async () => {
  openPage("#view=distributed");
  const blame = await panel("Who cost, who lost");
  const row = blame.getByRole("row", { name: /rank 1/ });
  expect(plain(row.textContent)).toBe("rank 1400 µs–");
  expect(blame.getByText(/add up to/).textContent).toContain("share one host's clock");
});

it("says why a change is not answered, and asks about the rank that is chosen", async () => {
  openPage("#view=distributed");
  const whatIf = await panel("What if");
  await waitFor(() => expect(whatIf.queryByText("Reading…")).toBeNull());
  expect(whatIf.getAllByText(/Rank 3 is missing/)).toHaveLength(1);
  server.answer("view/distributed/what_if", {
    ...REFUSED,
    refused: "",
    step_ns: 1_000_000,
    edited_ns: 800_000,
    gain_ns: 200_000,
    error_median: 0.0001,
    error_most: 0.002,
  });
  await userEvent.selectOptions(whatIf.getByRole("combobox", { name: "Which one" }), "rank 2");
  const said = await whatIf.findByText(/a step:/);
  expect(plain(said.textContent)).toBe("Up to 200 µs of 1.00 ms a step: 20.0 % less.");
  expect(whatIf.queryByText(/own error/)).toBeNull(); // the panel begins with it
  expect(server.asked.at(-1)?.search).toContain("target=2");
  await userEvent.selectOptions(whatIf.getByRole("combobox", { name: "What if" }), "input");
  expect(whatIf.queryByRole("combobox", { name: "Which one" })).toBeNull();
});

it("asks at first about the node that is named", async () => {
  const node = { ranks: "", count: 8, own_ns: 1e6, cost_ns: 0, lost_ns: 0, times_last: 0 };
  const nodes = [
    { ...node, name: "node0", is_late: false },
    { ...node, name: "node1", is_late: true },
  ];
  server.answer("view/distributed", answerOf(16, 3, { nodes }));
  openPage("#view=distributed");
  const whatIf = await panel("What if");
  expect(whatIf.getByRole("combobox", { name: "What if" })).toHaveProperty("value", "node");
  expect(whatIf.getByRole("combobox", { name: "Which one" })).toHaveProperty("value", "1");
  const asked = server.asked.filter(({ pathname }) => pathname.endsWith("/what_if"));
  expect(asked.map(({ searchParams: of }) => [of.get("kind"), of.get("target")])).toEqual([
    ["node", "1"],
  ]);
});

it("places 1,024 ranks by stage, with as many columns as fit", () => {
  const axes = [
    { name: "TP", size: 8 },
    { name: "PP", size: 4 },
    { name: "DP", size: 32 },
  ];
  const cells = Array.from({ length: 1024 }, (_, rank) => ({
    rank,
    row: rank,
    place: [rank % 8, Math.floor(rank / 256), Math.floor((rank % 256) / 8)],
  }));
  const found = arrange({ text: "", axes, cells });
  expect([found.columns, found.blocks.length]).toEqual([32, 4]);
  expect([found.across, found.down]).toEqual(["TP 8 × DP 4", "DP 8"]);
  const spots = new Set(found.blocks[1]?.map(({ column, row }) => `${column} ${row}`));
  expect(spots.size).toBe(256);
});

it.each([
  [1021, 32, "other 32", "other 32"],
  [1000, 25, "other 25", "other 40"],
  [31, 31, "other 31", ""],
])("fills its lines with %i ranks of no known group", (ranks, columns, across, down) => {
  const cells = Array.from({ length: ranks }, (_, rank) => ({ rank, row: rank, place: [rank] }));
  const found = arrange({ text: "", axes: [{ name: "other", size: ranks }], cells });
  expect([found.columns, found.across, found.down]).toEqual([columns, across, down]);
});

it("says of each rank where it stands and what it cost", async () => {
  openPage("#view=distributed");
  const layout = await panel("Layout");
  expect(plain(layout.getByTitle(/^rank 1 on node0 \(DP 1\)/).title)).toContain("100 µs");
});

it("shows every pair when it is asked to", async () => {
  openPage("#view=distributed");
  await userEvent.click((await panel("Who cost, who lost")).getByRole("radio", { name: "Matrix" }));
  const blame = await panel("Who cost, who lost");
  expect(plain(blame.getByRole("row", { name: /rank 1/ }).textContent)).toContain("400 µs");
});

it("shows pairs of neighbours where there are too many ranks, and says so", async () => {
  const many = answerOf(40, 2, {
    blame: Array.from({ length: 20 }, (_, last) => Array.from({ length: 20 }, () => last * 1000)),
    blame_ranks: 2,
  });
  server.answer("view/distributed", many);
  openPage("#view=distributed&distributed.blame=matrix");
  const blame = await panel("Who cost, who lost");
  expect(blame.getByText(/ranks are more than can be told apart/)).toBeTruthy();
  const cells = blame.getByRole("img", { name: /^Who waited for whom/ });
  expect(cells.children).toHaveLength(20 * 20);
  cells.focus();
  await userEvent.keyboard("{ArrowDown}{ArrowDown}{ArrowRight}");
  expect(plain(blame.getByRole("status").textContent)).toBe(
    "Rank 2–3 waited 1.00 µs for rank 2–3 per step.",
  );
});

it("shows the first rows of a long table, and the others when asked", async () => {
  server.answer("view/distributed", answerOf(40, 2));
  openPage("#view=distributed");
  const ranks = await panel("Devices and ranks");
  expect(ranks.getByRole("grid").getAttribute("aria-rowcount")).toBe("33");
  await userEvent.click(ranks.getByRole("button", { name: "8 more" }));
  expect(ranks.getByRole("grid").getAttribute("aria-rowcount")).toBe("41");
  expect(ranks.getByRole("button", { name: "show fewer" })).toBeTruthy();
});

it("frames who came last, and says why a figure is missing", async () => {
  openPage("#view=distributed");
  const heat = await panel(/^Waiting, rank by step/);
  const row = heat.getByRole("row", { name: /rank 1/ });
  expect(within(row).getAllByText("last")).toHaveLength(3);
  expect(heat.getByTitle("The recordings cannot be replayed.")).toBeTruthy();
});

it("shows names of groups as text and keeps a role that is chosen in the address", async () => {
  const { container } = openPage("#view=distributed");
  const groups = await panel("Process groups");
  expect(container.querySelector("img")).toBeNull();
  await userEvent.selectOptions(
    groups.getByRole("combobox", { name: /Role of/ }),
    "tensor parallel",
  );
  expect(decodeURIComponent(location.hash)).toContain("distributed.roles=0-2=tensor");
});

it("says of a group how long it was exposed and blocking in each step", async () => {
  openPage("#view=distributed");
  const groups = await panel("Process groups");
  const bars = groups.getByRole("img", { name: /^step 1/ });
  expect(plain(bars.getAttribute("aria-label"))).toContain(
    "step 2: 300 µs exposed, 100 µs blocking; step 3: 300 µs exposed, 200 µs blocking",
  );
});

it("sets nodes and stages side by side, and names the node that is late", async () => {
  const node = { ranks: "ranks 0-7", count: 8, own_ns: 1e6, cost_ns: 0, lost_ns: 0, times_last: 0 };
  server.answer(
    "view/distributed",
    answerOf(3, 3, {
      nodes: [
        { ...node, name: "gpu-1", is_late: false },
        { ...node, name: HOSTILE, is_late: true, cost_ns: 2e6 },
      ],
      pipeline: [
        {
          number: 0,
          ranks: "rank 0",
          bubble_ns: 2e6,
          bubble_ratio: 0.25,
          slack_ns: null,
          waited_ratio: null,
          least_ratio: 0.2,
        },
        {
          number: 1,
          ranks: "rank 1",
          bubble_ns: 1e6,
          bubble_ratio: 0.125,
          slack_ns: -40_000,
          waited_ratio: 0.75,
          least_ratio: 0.2,
        },
      ],
    }),
  );
  const { container } = openPage("#view=distributed");
  const nodes = await panel("Nodes");
  expect(plain(nodes.getByRole("row", { name: /late/ }).textContent)).toContain("2.00 ms");
  expect(container.querySelector("img")).toBeNull();
  expect(nodes.getByText("late", { exact: false }).textContent).toBe(" late");
  const stages = await panel("Stages of the pipeline");
  expect(plain(stages.getByRole("row", { name: /rank 1/ }).textContent)).toContain("75");
});

const STUCK = {
  group: "world",
  operation: "all_reduce",
  sequence: 3,
  problem: "not ended by all",
  missed: "rank 0",
  waiting: "",
  no_log: "",
  part_of_log: "",
  place: "",
};

it("folds equal groups where there are many, the one that blocks longest first", async () => {
  const answer = answerOf(3, 3);
  const [group] = answer.groups;
  const many = Array.from({ length: 14 }, (_, at) => ({
    ...group,
    key: `${at}`,
    label: `tp ${at}`,
    shape: "8x1",
    alike: 14,
    blocking_ns: at === 9 ? 900_000 : 1_000,
  }));
  server.answer("view/distributed", { ...answer, groups: many });
  const { user } = openPage("#view=distributed");
  const groups = await panel("Process groups");
  expect(groups.getAllByRole("row")).toHaveLength(2);
  expect(groups.getByText("worst of 14").parentElement?.textContent).toContain("tp 9");
  await user.click(groups.getByRole("button", { name: "Fold equal groups" }));
  expect(groups.getAllByRole("row").length).toBeGreaterThan(10);
  expect(groups.queryByText("worst of 14")).toBeNull();
});

it("shows of a hang what its logs tell, and no empty columns", async () => {
  server.answer("view/distributed", answerOf(3, 3, { logs: true }));
  const hang = (rows: readonly object[]) =>
    server.answer("view/distributed/hang", {
      sentence: "Rank 0 has not ended all_reduce #3 of world.",
      detail: "",
      notes: ["a.log: its last line is only half there."],
      rows,
      ranks: 3,
    });
  hang([STUCK]);
  const { unmount } = openPage("#view=distributed");
  const headsOf = async () =>
    (await panel("Logs of a hang")).getAllByRole("columnheader").map((one) => one.textContent);
  await screen.findByText(/only half there/);
  expect(await headsOf()).toEqual(["Collective", "Problem", "Missed"]);
  const headline = screen.getByRole("heading", { level: 1 });
  expect(headline.textContent).toBe("Rank 0 has not ended all_reduce #3 of world.");
  unmount();
  hang([
    STUCK,
    {
      ...STUCK,
      sequence: 4,
      missed: "",
      no_log: "ranks 1 and 2",
      part_of_log: "rank 7",
      place: "train.py:4",
    },
  ]);
  openPage("#view=distributed");
  await screen.findByText("ranks 1 and 2");
  expect(await headsOf()).toEqual([
    "Collective",
    "Problem",
    "Missed",
    "No log",
    "Part of log",
    "Issued at",
  ]);
  const row = (await panel("Logs of a hang")).getByRole("row", { name: /#4/ });
  expect(within(row).getAllByText("–")).toHaveLength(1);
});

it("says from whom a rank inherited its lateness, and what it receives", async () => {
  const ranks = [rankOf(0, { inherited_ns: 50_000, inherited_from: 1, received_bytes: 4096 })];
  server.answer("view/distributed", answerOf(3, 3, { ranks: [...ranks, rankOf(1), rankOf(2)] }));
  openPage("#view=distributed");
  const table = await panel("Devices and ranks");
  expect(plain(table.getByTitle("most of it from rank 1").textContent)).toBe("50.0 µs");
  expect(plain(table.getByRole("row", { name: /worker0/ }).textContent)).toContain("4.00 KiB");
});

it("keeps what is asked of a collective in sight where there is little room", async () => {
  vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(700);
  const one = answerOf(3, 3);
  const [group] = one.groups;
  const table = ["1", "2"].flatMap((step) =>
    one.table.map((row) => ({ ...row, number: Number(step), step, verdict: "x" })),
  );
  const groups = group === undefined ? [] : [group, { ...group, key: "0-1" }];
  server.answer(
    "view/distributed",
    answerOf(3, 3, { table, table_columns: HEADS.DistributedCollective, groups }),
  );
  openPage("#view=distributed");
  const heads = (await panel("Collectives")).getAllByRole("columnheader");
  expect(heads.slice(0, 5).map((head) => head.textContent?.replace("↓", ""))).toEqual([
    "#",
    "Operation",
    "Waiting, all ranks",
    "Last",
    "Verdict",
  ]);
});

it("says of a collective how many ranks came last at one instant", async () => {
  const table = answerOf(3, 3).table.map((one) => ({
    ...one,
    tied: 255,
    verdict: "latency-bound",
  }));
  server.answer("view/distributed", answerOf(3, 3, { table }));
  openPage("#view=distributed");
  const shown = await panel("Collectives");
  expect(plain(shown.getByTitle(/255 other ranks arrived/).textContent)).toBe("rank 1 +255");
});

it("draws a thousand ranks as nodes, and the late one's node rank by rank", () => {
  const lines = linesOf(answerOf(1024, 2), 411);
  expect(lines.length).toBe(127 + 8);
  expect(lines.find(({ rows }) => rows.includes(411))?.label).toBe("rank 411");
  expect(lines[3]?.label).toBe("rank 411");
  expect(lines.findIndex(({ label }) => label === "node0")).toBeGreaterThan(7);
});

it("puts the node whose worst rank costs most first", () => {
  const answer = answerOf(1024, 2);
  const ranks = answer.ranks.map((rank, row) => ({
    ...rank,
    cost_ns: row === 77 ? 9e6 : row === 901 ? 8e6 : 1e6,
  }));
  const labels = linesOf({ ...answer, ranks }, null).map(({ label }) => label);
  expect(labels.slice(0, 3)).toEqual(["node9", "node112", "node0"]);
});

it("parts small values of the ramp, and none from some", () => {
  expect([0, 1, 25, 100].map((value) => rampStep(value, 100))).toEqual([0, 1, 3, 6]);
});

describe("while recordings are read", () => {
  afterEach(() => vi.useRealTimers());

  /** Answers of the view from now on: held until they are let go, with the signals of those who asked. */
  function hold() {
    const signals: AbortSignal[] = [];
    const waiting: ((response: Response) => void)[] = [];
    const others = globalThis.fetch;
    vi.stubGlobal("fetch", (address: string, init: RequestInit) => {
      if (!new URL(address).pathname.endsWith("api/view/distributed")) {
        return others(address, init);
      }
      if (init.signal) {
        signals.push(init.signal);
      }
      return new Promise<Response>((resolve) => waiting.push(resolve));
    });
    const letGo = (body: object, status = 200) =>
      waiting.shift()?.(new Response(JSON.stringify(body), { status }));
    return { signals, letGo };
  }

  const some = answerOf(4, 3, { headline: "2 of 4 ranks are read so far.", read: 2, waiting: 2 });
  const none = { bytes_done: 0, bytes_total: 0, events: 0, seconds_left: null };
  const done = { phase: "comparing ranks", parts_done: 3, parts_total: 9 };
  const progress = progressOf({ ...none, ...done });

  it("asks again only when the last ask is answered, and takes none back", async () => {
    vi.useFakeTimers({ shouldAdvanceTime: true });
    const { signals, letGo } = hold();
    openPage("#view=distributed");
    await waitFor(() => expect(signals).toHaveLength(1));
    letGo(some);
    await screen.findByRole("progressbar", { name: "Ranks read" });
    await vi.advanceTimersByTimeAsync(30_000);
    expect(signals).toHaveLength(2);
    letGo({ reading: progress }, 202);
    // The answer before it stays, with how far the one of now is.
    expect(await screen.findByText("comparing ranks · 3 of 9")).toBeTruthy();
    expect(plain(screen.getByRole("heading", { level: 1 }).textContent)).toContain("2 of 4 ranks");
    await vi.advanceTimersByTimeAsync(30_000);
    expect(signals).toHaveLength(3);
    letGo(answerOf(4, 3));
    await screen.findByText(/Rank 1 needs 20 % more/);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(signals).toHaveLength(3);
    expect(signals.filter(({ aborted }) => aborted)).toEqual([]);
  });

  it("shows what is done of the first answer", async () => {
    server.answer("view/distributed", { status: 202, body: { reading: progress } });
    openPage("#view=distributed");
    expect(await screen.findByRole("heading", { name: "Comparing ranks" })).toBeTruthy();
    const bar = screen.getByRole("progressbar");
    expect(bar.getAttribute("aria-valuenow")).toBe("33");
    expect(screen.getByText("3 of 9")).toBeTruthy();
  });
});
