import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, it, vi } from "vitest";
import { catalogOf, progressOf, runOf } from "../../../test-fixtures/catalog";
import { headOf } from "../../../test-fixtures/heads";
import { openPage } from "../../../test-fixtures/page";
import { INFO, TRACE } from "../../../test-fixtures/resnet";
import { type FakeServer, fakeServer } from "../../../test-fixtures/server";
import type { Diff, DiffPart, DiffRow, DiffTable, Pieces } from "../../api/types.gen";
import { fitting, waterfall } from "./bridge";
import { leaning, together } from "./flame";
import { outside } from "./pieces";

const plain = (element: Element) => element.textContent?.replaceAll("\u00a0", " ");

const HOSTILE = "<img src=x onerror=alert(1)>";

const part = (key: string, base_ns: number, other_ns: number, is_real: boolean | null = true) =>
  ({
    key,
    label: key,
    category: "compute",
    ghost: false,
    help: "",
    base_ns,
    other_ns,
    change_ns: other_ns - base_ns,
    is_real,
    door: { base_at: "1-2", other_at: "3-4", find: "" },
  }) satisfies DiffPart;

const side = (run: string, mean_ns: number) => ({
  run,
  worker: "worker0",
  span: "1",
  label: run,
  device: "V100",
  step_count: 6,
  mean_ns,
  median_ns: mean_ns,
  noise_ratio: null,
});

const ANSWER: Diff = {
  outcome: "better",
  headline: "36.5 ms faster per step.",
  detail: "Waiting fell.",
  certainty: "6 against 6 steps",
  outliers: ["Step 9 of B takes 207 ms."],
  settle: "",
  reason: "",
  base: side("old", 177_592_167),
  other: side("resnet50", 141_068_000),
  division: "device",
  divisions: ["device", "classic"],
  base_ns: 177_592_167,
  other_ns: 141_068_000,
  change_ns: -36_524_167,
  parts_columns: [],
  parts: [part("compute", 98_588_667, 99_144_667, false), part("loader", 79_003_500, 41_923_333)],
  clock_ns: 0,
  can_equal_clocks: false,
  clock_ratio: 1,
  mismatches: [],
  counts_columns: [],
  counts: [
    {
      key: "launches",
      label: "Launches",
      unit: "count",
      base: 10,
      other: 12,
      change: 2,
      is_exact: true,
    },
  ],
  kernels_by: "name",
  missing: { modules: "No modules." },
};

const row = (name: string, change_ns: number): DiffRow => ({
  name,
  other_name: "",
  relation: "",
  detail: "",
  base_calls: 6,
  other_calls: 6,
  base_ns: 1_000_000,
  other_ns: 1_000_000 + change_ns,
  change_ns,
  ratio: change_ns / 1_000_000,
  by_calls_ns: 0,
  by_speed_ns: change_ns,
  adjusted_ns: null,
  device_change_ns: null,
  waste_change_ns: null,
  work: null,
  base_light_ratio: null,
  other_light_ratio: null,
  base_waste_ns: null,
  other_waste_ns: null,
  base_bound: null,
  other_bound: null,
  status: "slower",
  p: 0.001,
  sums: { self_ns: [1_000_000, 1_000_000 + change_ns], device_self_ns: [0, 0] },
  base_kernel: "",
  short: "",
  other_short: "",
  other_kernel: "",
});

const HEADS = [
  headOf("name", "Operator", { kind: "name", is_sortable: true }),
  headOf("base_ns", "A", { is_numeric: true, unit: "ns" }),
  headOf("change_ns", "Change", { is_numeric: true, unit: "ns" }),
  headOf("base_kernel", "Kernel A", { kind: "name" }),
  headOf("other_kernel", "Kernel B", { kind: "name" }),
  headOf("status", "Verdict", { kind: "words" }),
];
const TABLE: DiffTable = {
  columns: HEADS,
  sort_by: "change_ns",
  rows: [row(HOSTILE, 500_000), row("aten::mm", 20_000)],
  offset: 0,
  count: 2,
  group: "operators",
  metric: "self_ns",
  base_ns: 2_000_000,
  other_ns: 2_520_000,
  metrics: ["self_ns"],
  kernels_by: null,
  device: "",
  missing: "",
};

const PIECES: Pieces = {
  path: "",
  trail: [],
  pieces_columns: [],
  columns: HEADS,
  pieces: [
    {
      path: "0",
      name: "DataLoader",
      other_name: "",
      kind: "loader",
      base_ns: 69_000_000,
      other_ns: 1_000_000,
      base_device_ns: 0,
      other_device_ns: 0,
      base_count: 6,
      other_count: 6,
      has_inside: false,
    },
  ],
  rows: [],
  row_count: 0,
  missing: "",
};

let server: FakeServer;

beforeEach(() => {
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(480);
  const runs = [
    runOf("resnet50", { workers: { worker0: ["ready"] } }),
    runOf("old", { workers: { worker0: ["ready"] } }),
  ];
  server = fakeServer(catalogOf(runs));
  const views = [...INFO.views, { stem: "diff", title: "Diff", key: "f", question: "What?" }];
  server.answer("info", { ...INFO, views });
  const shown = { stem: "diff", unavailable: null, badge: null };
  server.answer("trace", { ...TRACE, views: [...TRACE.views, shown] });
  server.answer("view/diff", ANSWER);
  server.answer("view/diff/table", TABLE);
  server.answer("view/diff/pieces", PIECES);
});

const asked = (route: string) =>
  server.asked.filter(({ pathname }) => pathname.endsWith(route)).map((url) => url.searchParams);

it("compares with the only other run, and says what it asked", async () => {
  openPage("#view=diff&run=resnet50");
  expect(await screen.findByRole("heading", { level: 1 })).toHaveProperty(
    "textContent",
    "36.5 ms faster per step.",
  );
  expect(asked("view/diff")[0]?.get("base_run")).toBe("old");
  expect(await screen.findByText(/adds up exactly/)).toBeTruthy();
});

it("adds the pieces and what is outside of them up to the change of the step", async () => {
  openPage("#view=diff&run=resnet50");
  const rest = (await screen.findByText("outside of pieces")).closest(".diff-piece");
  const figures = [...(rest?.querySelectorAll(":scope > .num") ?? [])].map(plain);
  expect(figures).toEqual(["▲ +31.5 ms +29 %", "▼ −36.5 ms"]);
  fireEvent.click(screen.getByRole("radio", { name: "Device" }));
  expect(screen.queryByText("outside of pieces")).toBeNull();
});

it("claims nothing outside where the pieces are longer than the step", () => {
  const [loader] = PIECES.pieces;
  expect(loader && outside([loader], [68_000_000, 2_000_000])).toBeNull();
  expect(loader && outside([loader], [69_000_000, 1_000_000])).toBeNull();
  expect(loader && outside([loader], [70_000_000, 1_000_000])).toEqual([1_000_000, 0]);
});

it("shows names from a trace as text", async () => {
  const { container } = openPage("#view=diff&run=resnet50");
  await screen.findByRole("row", { name: /onerror/ });
  expect(container.querySelector("img")).toBeNull();
});

it("opens a row by key: its figures, and the ways to it in both recordings", async () => {
  const mm = row("aten::mm", 20_000);
  const gone = { ...row("aten::gone", -1_000_000), other_calls: 0 };
  server.answer("view/diff/table", { ...TABLE, rows: [mm, gone] });
  openPage("#view=diff&run=resnet50&steps=7");
  (await screen.findByRole("row", { name: /aten::mm/ })).focus();
  await userEvent.keyboard("{Enter}");
  const figures = screen.getByRole("row", { name: /^Host self/ });
  expect(figures.textContent?.replaceAll("\u00a0", " ")).toBe(
    "Host self1.00 ms1.02 ms▲ +20.0 µs+2 %",
  );
  expect(screen.queryByRole("row", { name: /^Device self/ })).toBeNull();
  const to = (name: string) =>
    Object.fromEntries(
      new URLSearchParams(screen.getByRole("link", { name }).getAttribute("href")?.split("#")[1]),
    );
  expect(to("A in operators")).toMatchObject({ run: "old", "operators.search": "aten::mm" });
  expect(to("A in operators")["steps"]).toBeUndefined();
  expect(to("B in Trace")).toMatchObject({
    run: "resnet50",
    view: "timeline",
    steps: "7",
    "timeline.find": "aten::mm",
  });
  screen.getByRole("row", { name: /aten::gone/ }).focus();
  await userEvent.keyboard("{Enter}");
  expect(screen.getByText("It did not run there.")).toBeTruthy();
  expect(screen.queryByRole("link", { name: "B in Trace" })).toBeNull();
});

it("says which of the two is being prepared, and lets another be chosen", async () => {
  const reading = progressOf({ phase: "preparing", file: "worker0.1.pt.trace.json.gz" });
  server.answer("view/diff", { status: 202, body: { reading } });
  const { container } = openPage("#view=diff&run=resnet50");
  expect((await screen.findByRole("heading", { level: 1 })).textContent).toBe(
    "Comparing old with resnet50",
  );
  expect(screen.getAllByRole("progressbar")[0]?.getAttribute("aria-valuenow")).toBe("38");
  expect(container.textContent).toContain("preparing · 38\u00a0%");
  expect(screen.getByRole("button", { name: /Baseline run/ })).toBeTruthy();
  server.answer("view/diff", ANSWER);
  await screen.findByText(/adds up exactly/);
});

it("goes into a piece and back again", async () => {
  const { environment } = openPage("#view=diff&run=resnet50");
  const panel = within(await screen.findByRole("region", { name: "Pieces of the step" }));
  await userEvent.click(await panel.findByRole("button", { name: /DataLoader/ }));
  expect(environment.address.get()["diff.path"]).toBe("0");
  await userEvent.click(await panel.findByRole("button", { name: "← Back" }));
  expect(environment.address.get()["diff.path"]).toBeUndefined();
});

it("draws the pieces as a trend, and goes inside from there", async () => {
  const { environment } = openPage("#view=diff&run=resnet50");
  const panel = within(await screen.findByRole("region", { name: "Pieces of the step" }));
  await userEvent.click(panel.getByRole("radio", { name: "Trend" }));
  expect(panel.getByText(/all pieces up to it/)).toBeTruthy();
  await userEvent.click(panel.getByRole("button", { name: /DataLoader/ }));
  expect(environment.address.get()["diff.path"]).toBe("0");
});

it("swaps the two recordings", async () => {
  const { environment } = openPage("#view=diff&run=resnet50");
  await userEvent.click(await screen.findByRole("button", { name: "⇄ Swap" }));
  const values = environment.address.get();
  expect([values["run"], values["diff.base"]]).toEqual(["old", "resnet50"]);
});

it("asks for a baseline where none can be told", async () => {
  const runs = ["a", "b", "c"].map((name) => runOf(name, { workers: { worker0: ["ready"] } }));
  server.answer("catalog", catalogOf(runs));
  openPage("#view=diff&run=a");
  await screen.findByText("Choose what to compare with.");
  await userEvent.click(screen.getByRole("button", { name: /Baseline run/ }));
  await userEvent.click(await screen.findByRole("option", { name: /^b/ }));
  await waitFor(() => expect(asked("view/diff")[0]?.get("base_run")).toBe("b"));
});

it("proves the bridge in one unit", async () => {
  openPage("#view=diff&run=resnet50");
  const hint = await screen.findByText(/adds up exactly/);
  expect(hint.textContent).toBe(
    "median step · adds up exactly: 177,592,167 − 36,524,167 = 141,068,000\u00a0ns",
  );
});

it("takes what a faster clock saves off the bar of B", async () => {
  const parts = [
    part("compute", 100_000, 100_000),
    part("clock", 0, -20_000),
    part("idle", 0, 5_000),
  ];
  const other_ns = 85_000;
  server.answer("view/diff", { ...ANSWER, base_ns: 100_000, other_ns, change_ns: -15_000, parts });
  const { container } = openPage("#view=diff&run=resnet50");
  await screen.findByText(/adds up exactly/);
  const columns = [...container.querySelectorAll(".diff-waterfall .diff-column")];
  const styles = (bars: Iterable<HTMLElement>) => [...bars].map(({ style }) => style);
  const bars = styles((columns.at(-1) as Element).querySelectorAll<HTMLElement>("i"));
  expect(bars).toHaveLength(2);
  // It is as high as its step: the number above it stands on its top, and it begins at zero.
  const amount = columns.at(-1)?.querySelector<HTMLElement>(".diff-amount")?.style.top ?? "";
  const tops = bars.map(({ top }) => Number.parseFloat(top));
  expect(Math.min(...tops)).toBeCloseTo(Number.parseFloat(amount) + 18, 6);
  const foot = (index: number) => (tops[index] ?? 0) + Number.parseFloat(bars[index]?.height ?? "");
  expect(Math.round(foot(0))).toBe(235);
  expect(Math.round(foot(1))).toBe(Math.round(tops[0] ?? 0) - 1);
});

it("writes a change above its bar where the bar falls to the names below", async () => {
  const parts = [part("idle", 100_000, 100), part("compute", 30_000, 30_000)];
  const sums = { base_ns: 130_000, other_ns: 30_100, change_ns: -99_900 };
  const amountAndBar = (container: HTMLElement) =>
    [".diff-amount", ".diff-delta"].map((one) =>
      Number.parseFloat(
        container.querySelectorAll<HTMLElement>(`.diff-column:nth-child(2) ${one}`)[0]?.style.top ??
          "",
      ),
    );
  server.answer("view/diff", { ...ANSWER, ...sums, parts });
  const first = openPage("#view=diff&run=resnet50");
  await screen.findByText(/adds up exactly/);
  const [below = 0, top = 0] = amountAndBar(first.container);
  expect(below).toBeGreaterThan(top);
  first.unmount();
  const alone = { base_ns: 100_000, other_ns: 100, change_ns: -99_900, parts: parts.slice(0, 1) };
  server.answer("view/diff", { ...ANSWER, ...alone });
  const second = openPage("#view=diff&run=resnet50");
  await screen.findByText(/adds up exactly/);
  const [above = 0, itsTop = 0] = amountAndBar(second.container);
  expect(above).toBe(itsTop - 18);
});

it("has a dash where one side has no kernel of a role", async () => {
  const rows = [{ ...row("memset", -20_000), base_kernel: "Memset (Device)", other_kernel: "" }];
  server.answer("view/diff/table", { ...TABLE, rows, count: 1, group: "kernels" });
  openPage("#view=diff&run=resnet50&diff.tab=kernels");
  const line = await screen.findByRole("row", { name: /Memset/ });
  expect(line.textContent).not.toContain("(no name)");
});

it("draws a waterfall that ends at the other step", () => {
  const bars = waterfall(ANSWER.parts, ANSWER.base_ns);
  expect(bars.at(-1)?.to).toBe(ANSWER.other_ns);
});

it("adds small parts up where there is no room for them", () => {
  const parts = [10, -400, 30, 900, 5].map((change, at) => part(`p${at}`, 1000, 1000 + change));
  const few = fitting(parts, 3);
  expect(few.map(({ key }) => key)).toEqual(["p1", "p3", "rest"]);
  const sum = (some: readonly DiffPart[]) => some.reduce((all, one) => all + one.change_ns, 0);
  expect(sum(few)).toBe(sum(parts));
});

it("adds both recordings up in one flame graph", () => {
  const boxes = [
    { node: 0, parent: -1, name: "step", kind: "op", base: 60, other: 40 },
    { node: 1, parent: 0, name: "mm", kind: "op", base: 10, other: 30 },
  ];
  const flame = together({ unit: "ns", base_total: 60, other_total: 40, boxes, missing: "" });
  expect(flame.nodes.map(({ value }) => value)).toEqual([100, 40]);
  expect(flame.nodes[0]?.self_value).toBe(60);
  expect(boxes.map(leaning)).toEqual([-0.2, 0.5]);
});
