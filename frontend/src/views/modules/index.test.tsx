import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, it, vi } from "vitest";
import { catalogOf, runOf } from "../../../test-fixtures/catalog";
import { headOf } from "../../../test-fixtures/heads";
import { openPage } from "../../../test-fixtures/page";
import { INFO, TRACE } from "../../../test-fixtures/resnet";
import { type FakeServer, fakeServer } from "../../../test-fixtures/server";
import type { ModuleRow, Modules } from "../../api/types.gen";
import { time } from "../../base/text/format";
import { spanOf } from "./cells";

const HOSTILE = "<img src=x onerror=alert(1)>";

const rowOf = (key: string, parent: string, name: string, more: Partial<ModuleRow> = {}) =>
  ({
    key,
    parent,
    name,
    depth: 0,
    type: name.replace(/_\d+$/, ""),
    qualified: null,
    path: name,
    members: 1,
    inside: 0,
    least_ns: null,
    median_ns: null,
    most_ns: null,
    outlier: null,
    calls: 1,
    recompute_calls: 0,
    ops: 3,
    kernels: 2,
    total_ns: 1000,
    self_ns: 0,
    busy_ns: 900,
    forward_ns: 600,
    backward_ns: 400,
    recompute_ns: 0,
    ratio: 0.1,
    compiled: null,
    host_total_ns: 5000,
    host_self_ns: 100,
    host_recompute_ns: 0,
    mean_ns: 5000,
    op_total_ns: 800,
    idle_ns: 70,
    flops: null,
    mfu_ratio: null,
    light_ratio: null,
    waste_ns: null,
    born_bytes: null,
    kept_bytes: null,
    slice: 7,
    ts: 100_000,
    dur_ns: 50_000,
    ...more,
  }) satisfies ModuleRow;

const ROWS = [
  rowOf("0", "", "Net_0", { inside: 2, total_ns: 10_000, ratio: 1 }),
  rowOf("1+", "0", "Block", {
    members: 3,
    inside: 3,
    total_ns: 9000,
    least_ns: 2000,
    median_ns: 2500,
    most_ns: 4500,
    outlier: "Block_2",
  }),
  rowOf("9", "0", HOSTILE),
];
const HEADS = [
  headOf("name", "Module", { kind: "name", is_sortable: true }),
  headOf("calls", "Calls", { is_numeric: true }),
  headOf("total_ns", "Total", { is_numeric: true, unit: "ns" }),
  headOf("flops", "FLOPs", { is_numeric: true, is_optional: true, unit: "FLOP" }),
];
const whole = {
  total_ns: 12_000,
  modules_ns: 10_000,
  parts: [
    { key: "modules", name: "modules", ns: 10_000, ratio: 0.8, help: "Work of modules." },
    { key: "optimizer", name: "optimizer", ns: 2000, ratio: 0.2, help: "The optimizer." },
  ],
};
const ANSWER: Modules = {
  headline: "3 × Block in Net_0: 90.0 % of the device time in modules.",
  detail: "Modules 10 µs + optimizer 2 µs = all device activity, 12 µs.",
  source: "Python frames",
  time: "device",
  step_count: 1,
  device: whole,
  ops: whole,
  idle: null,
  busy_ns: 11_000,
  table: { columns: HEADS, rows: ROWS, count: 3, modules: 5, sort_by: "total_ns", step_count: 1 },
  roots: ROWS.slice(0, 1),
  never_called: ["spare"],
  recompute_ratio: 0,
  missing: { flops: "No input shapes were recorded." },
};
const FLAME = { unit: "ns", total: 0, nodes: [], merged: 0, missing: "" };

const runs = [runOf("resnet50", { workers: { worker0: ["ready"] } })];
let server: FakeServer;

beforeEach(() => {
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(480);
  server = fakeServer(catalogOf(runs));
  const views = [
    ...INFO.views,
    { stem: "modules", title: "Module", key: "l", question: "Which modules ran?" },
  ];
  server.answer("info", { ...INFO, views });
  const shown = { stem: "modules", unavailable: null, badge: null };
  server.answer("trace", { ...TRACE, views: [...TRACE.views, shown] });
  server.answer("view/modules", ANSWER);
  server.answer("view/modules/flame", FLAME);
});

const table = async () => within(await screen.findByRole("treegrid", { name: "Modules" }));
const plain = (text: string | null | undefined) => text?.replaceAll("\u00a0", " ") ?? "";
const names = async () =>
  (await table())
    .getAllByRole("row")
    .slice(1)
    .map((row) => plain(row.querySelector("td .mono")?.textContent));

it("opens by its title and shows the tree", async () => {
  openPage("#view=module");
  expect(await names()).toEqual(["Net_0", "Block", HOSTILE]);
  const block = (await table()).getByRole("row", { name: /× 3/ });
  expect(plain(block.textContent)).toContain("2.00 to 4.50 µs, outlier Block_2");
  expect(block.getAttribute("aria-expanded")).toBe("false");
});

it("shows a compiled function that lies deep", async () => {
  const rows = [
    rowOf("0", "", "Net_0", { inside: 1 }),
    rowOf("1", "0", "Body_0", { inside: 1 }),
    rowOf("2", "1", "Layer_0", { inside: 1 }),
    rowOf("3", "2", "scaled", { compiled: "2 versions" }),
  ];
  server.answer("view/modules", { ...ANSWER, table: { ...ANSWER.table, rows } });
  openPage("#view=modules");
  expect(await names()).toEqual(["Net_0", "Body_0", "Layer_0", "scaled"]);
});

it("shows names from a trace as text", async () => {
  const { container } = openPage("#view=modules");
  await table();
  expect(container.querySelector("img")).toBeNull();
});

it("asks for what several siblings hold as they are opened", async () => {
  const members = [1, 2, 3].map((at) => rowOf(`${at}`, "1+", `Block_${at - 1}`));
  server.answer("view/modules/table", {
    columns: HEADS,
    rows: members,
    count: 3,
    modules: 3,
    sort_by: "total_ns",
    step_count: 1,
  });
  openPage("#view=modules");
  await userEvent.click((await table()).getByRole("row", { name: /× 3/ }));
  await waitFor(async () =>
    expect(await names()).toEqual(["Net_0", "Block", "Block_0", "Block_1", "Block_2", HOSTILE]),
  );
  const asked = server.asked.filter(({ pathname }) => pathname.endsWith("modules/table"));
  expect(asked.map(({ searchParams }) => searchParams.get("below"))).toEqual(["1+"]);
});

it("says the unit of two times once where it is the same", () => {
  expect(spanOf(time(3_470_000), time(4_150_000)).replaceAll("\u00a0", " ")).toBe(
    "3.47 to 4.15 ms",
  );
  expect(spanOf(time(900_000), time(4_150_000)).replaceAll("\u00a0", " ")).toBe(
    "900 µs to 4.15 ms",
  );
});

it("leads to the longest call, with some of what is around it", async () => {
  openPage("#view=modules");
  const link = (await table()).getByRole("link", { name: "Net_0" });
  expect(link.getAttribute("href")).toContain("timeline.select=7");
  expect(link.getAttribute("href")).toContain("timeline.at=95000-155000");
});

it("says what belongs to no module, so that the parts are the whole", async () => {
  openPage("#view=modules");
  await screen.findByRole("region", { name: "Modules" });
  expect(plain(document.querySelector(".modules-sum")?.textContent)).toBe(
    "Modules 10.00 µs+ optimizer 2.00 µs= all kernels, copies and sets 12.00 µs",
  );
});

it("names the modules of the model that never ran", async () => {
  openPage("#view=modules");
  const panel = await screen.findByRole("region", { name: "Modules" });
  expect(plain(panel.querySelector(".modules-rest")?.textContent)).toContain("spare");
});

it("leaves out columns that no row has a value for", async () => {
  openPage("#view=modules&modules.hide=none");
  const heads = (await table()).getAllByRole("columnheader").map((head) => plain(head.textContent));
  expect(heads).toContain("Calls");
  expect(heads.some((head) => head.startsWith("FLOPs"))).toBe(false);
});
