import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, it, vi } from "vitest";
import { catalogOf, runOf } from "../../../test-fixtures/catalog";
import { headOf } from "../../../test-fixtures/heads";
import { openPage } from "../../../test-fixtures/page";
import { INFO, TRACE } from "../../../test-fixtures/resnet";
import { fakeServer } from "../../../test-fixtures/server";
import type { SpeedOfLight, SpeedRow } from "../../api/types.gen";
import { axis, placed, roofNames, scalesOf } from "./roofline";

const rowOf = (name: string, ns: number): SpeedRow => ({
  name,
  shapes: null,
  calls: 3,
  measured_ns: ns,
  light_ns: ns / 4,
  light_ratio: 0.25,
  waste_ns: (3 * ns) / 4,
  bound: "memory",
  flops: 0,
  least_flops: 0,
  read_bytes: 8,
  written_bytes: 8,
  tflop_s: 0,
  moved_bytes_per_s: 1e9,
  intensity: 0,
  figure_ratio: 1,
  reason: null,
  sizes_from: null,
  dtype: null,
  unit: null,
  peak_tflop_s: null,
  source: null,
});
const pointOf = (name: string, ns: number, intensity: number | null) => ({
  name,
  ns,
  intensity,
  tflop_s: intensity === null ? 0 : intensity * 2,
  gb_s: 300,
  light_ratio: 0.25,
  unit: "16-bit",
  is_rest: false,
});
const ROOFLINE = {
  bandwidth_gb_s: 2000,
  roofs: [{ name: "16-bit", tflop_s: 400 }],
  points: [pointOf("aten::mm", 9000, 50), pointOf("aten::add", 1000, null)],
};
const ANSWER: SpeedOfLight = {
  headline: "Kernels run at 25 % of the roofline.",
  detail: "",
  step_count: 1,
  parts: [
    { key: "light", name: "light", ns: 2500, ratio: 0.1, help: "" },
    { key: "waste", name: "waste", ns: 7500, ratio: 0.3, help: "" },
    { key: "memset", name: "memset", ns: 0, ratio: 0, help: "" },
    { key: "idle", name: "idle", ns: 15_000, ratio: 0.6, help: "" },
  ],
  parts_columns: [headOf("name", "Part")],
  reasons: [],
  reasons_columns: [],
  under_others_ns: 0,
  ranking: [{ key: "idle", name: "idle", ns: 15_000, running_ns: 15_000, ratio: 0.6 }],
  ranking_columns: [headOf("name", "Where")],
  roofline: ROOFLINE,
  model_flops: 1,
  all_flops: 2,
  mfu_ratio: 0.3,
  hfu_ratio: 0.4,
  mbu_ratio: null,
  at_least: true,
  source: "",
  table: {
    columns: [headOf("name", "Name")],
    rows: [rowOf("aten::mm", 9000), rowOf("aten::add", 1000)],
    offset: 0,
    count: 2,
    sort_by: "waste_ns",
    step_count: 1,
  },
};

beforeEach(() => {
  const server = fakeServer(catalogOf([runOf("lit", { workers: { worker0: ["ready"] } })]));
  const view = { stem: "speed_of_light", title: "Speed of light", key: "s", question: "How fast?" };
  server.answer("info", { ...INFO, views: [...INFO.views, view] });
  const shown = { stem: "speed_of_light", unavailable: null, badge: null };
  server.answer("trace", { ...TRACE, views: [...TRACE.views, shown] });
  server.answer("view/speed_of_light", ANSWER);
});

it("divides the step, and says MFU as a lower bound", async () => {
  openPage("#view=speed_of_light");
  const bar = await screen.findByRole("img", { name: /^light 2\.50\s/ });
  expect(bar.getAttribute("aria-label")).not.toContain("memset");
  expect(screen.getByText(/^MFU at least 30\.0\s%, HFU at least 40\.0\s%$/)).toBeTruthy();
});

it("leads from a point to its row", async () => {
  vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(800);
  const scroll = vi.fn();
  HTMLElement.prototype.scrollIntoView = scroll;
  openPage("#view=speed_of_light");
  const point = await screen.findByRole("button", { name: /^aten::mm: 100\sTFLOP\/s in 16-bit/ });
  await userEvent.click(point);
  expect(point.getAttribute("aria-pressed")).toBe("true");
  const row = screen.getByRole("row", { name: /aten::mm/ });
  expect(within(row).getByText(/mm/).closest("[aria-current=true]")).toBeTruthy();
  expect(scroll).toHaveBeenCalledWith({ block: "center" });
});

it("says rates below one TFLOP/s in GFLOP/s, and that a CPU was measured", async () => {
  vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(800);
  const server = fakeServer(catalogOf([runOf("lit", { workers: { worker0: ["ready"] } })]));
  const view = { stem: "speed_of_light", title: "Speed of light", key: "s", question: "How fast?" };
  server.answer("info", { ...INFO, views: [...INFO.views, view] });
  const shown = { stem: "speed_of_light", unavailable: null, badge: null };
  server.answer("trace", { ...TRACE, views: [...TRACE.views, shown] });
  const slow = { ...pointOf("aten::mm", 9000, 50), tflop_s: 0.0285 };
  server.answer("view/speed_of_light", {
    ...ANSWER,
    source: "measured",
    roofline: { ...ROOFLINE, points: [slow] },
  });
  openPage("#view=speed_of_light");
  expect(await screen.findByRole("button", { name: /^aten::mm: 28\.5\sGFLOP\/s/ })).toBeTruthy();
  expect(screen.getByText("rates that this CPU reached")).toBeTruthy();
});

it("lets rows be chosen where no row has light, the longest first", async () => {
  const server = fakeServer(catalogOf([runOf("dark", { workers: { worker0: ["ready"] } })]));
  const view = { stem: "speed_of_light", title: "Speed of light", key: "s", question: "How fast?" };
  server.answer("info", { ...INFO, views: [...INFO.views, view] });
  const shown = { stem: "speed_of_light", unavailable: null, badge: null };
  server.answer("trace", { ...TRACE, views: [...TRACE.views, shown] });
  server.answer("view/speed_of_light", {
    ...ANSWER,
    roofline: { ...ROOFLINE, points: [] },
    table: { ...ANSWER.table, sort_by: "measured_ns" },
  });
  openPage("#view=speed_of_light");
  expect(await screen.findByText("the longest first")).toBeTruthy();
  expect(screen.getByLabelText("Rows")).toBeTruthy();
});

it("says what the rest is, which leads to no row, and has no kernels on a CPU", async () => {
  vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(800);
  const server = fakeServer(catalogOf([runOf("lit", { workers: { worker0: ["ready"] } })]));
  const view = { stem: "speed_of_light", title: "Speed of light", key: "s", question: "How fast?" };
  server.answer("info", { ...INFO, views: [...INFO.views, view] });
  const shown = { stem: "speed_of_light", unavailable: null, badge: null };
  server.answer("trace", { ...TRACE, views: [...TRACE.views, shown] });
  const rest = { ...pointOf("5 more", 9000, 50), is_rest: true };
  server.answer("view/speed_of_light", {
    ...ANSWER,
    under_others_ns: null,
    roofline: { ...ROOFLINE, points: [rest] },
  });
  openPage("#view=speed_of_light");
  const point = await screen.findByRole("button", { name: /^5 more:/ });
  await userEvent.click(point);
  expect(point.getAttribute("aria-pressed")).toBe("false");
  expect(screen.getByText(/^5 more: 100\sTFLOP\/s/)).toBeTruthy();
  const rows = within(screen.getByLabelText("Rows"));
  expect(rows.queryByText("Kernels")).toBeNull();
  expect(rows.getByText("Modules")).toBeTruthy();
});

it("draws no point above its roof, and rows without FLOPs in the strip", () => {
  const scales = scalesOf(ROOFLINE, 800);
  const [product, other] = placed(ROOFLINE, scales);
  const roof = scales.y.at((50 * 2000) / 1e3);
  expect(product?.y).toBeGreaterThanOrEqual(roof);
  expect(other?.x).toBeLessThan(scales.x.from);
  expect(product?.r).toBeGreaterThan(other?.r ?? 0);
});

it("holds all of its values, at equal factors in equal steps", () => {
  const found = axis([0.5, 20], 100, 400);
  expect(found.low).toBe(0.1);
  expect(found.ticks).toEqual([0.1, 1, 10]);
  expect(found.at(0.1)).toBe(100);
  expect(found.at(10) - found.at(1)).toBeCloseTo(found.at(1) - found.at(0.1));
  expect(found.at(20)).toBeLessThan(400);
});

it("draws what lies below its begin at its begin", () => {
  const found = axis([3], 0, 10);
  expect(found.at(0)).toBe(0);
  expect(found.at(1e-9)).toBe(0);
});

it("names at most seven powers of ten", () => {
  const { ticks } = axis([1e-4, 1e9], 0, 1);
  expect(ticks.length).toBeLessThanOrEqual(8);
  expect(ticks[0]).toBeCloseTo(1e-4);
});

it("names roofs left of their ridges, where no point can be, one line apart", () => {
  const names = roofNames(
    [
      { x: 700, y: 20, length: 40 },
      { x: 600, y: 26, length: 40 },
      { x: 300, y: 90, length: 40 },
    ],
    190,
    900,
  );
  // There is no room beside the last one: its name is above its line.
  expect(names[2]).toEqual({ x: 900, y: 85, isBeside: false });
  expect(names[1]).toEqual({ x: 592, y: 23, isBeside: true });
  expect(names[0]).toEqual({ x: 692, y: 10, isBeside: true });
});

it("keeps the name of a roof below the top of the chart", () => {
  const roofs = [18, 20, 22].map((y) => ({ x: 700, y, length: 40 }));
  expect(roofNames(roofs, 190, 900).map(({ y }) => y)).toEqual([10, 10, 19]);
});
