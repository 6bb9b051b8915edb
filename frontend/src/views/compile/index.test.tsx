import { screen, within } from "@testing-library/react";
import { beforeEach, expect, it } from "vitest";
import { catalogOf, runOf } from "../../../test-fixtures/catalog";
import { headOf } from "../../../test-fixtures/heads";
import { openPage } from "../../../test-fixtures/page";
import { INFO, TRACE } from "../../../test-fixtures/resnet";
import { fakeServer } from "../../../test-fixtures/server";
import type { Compiled } from "../../api/types.gen";

const HOSTILE = "<img src=x onerror=alert(1)>";
const link = (slice: string) => ({
  text: "in the trace",
  view: "timeline",
  params: { at: "10-20", select: slice },
  url: "",
});
const ANSWER: Compiled = {
  headline: "1 version compiled again: 2.00 ms.",
  detail: "1 graph break.",
  versions: [
    {
      name: HOSTILE,
      place: "a.py:3",
      id: "0/1",
      kind: "again",
      calls: 2,
      run_ns: 5000,
      compile_ns: 2_000_000,
      before_ns: null,
      why: "size 0 of x: 8, 16",
      guards: 4,
      cache: null,
      link: link("7"),
    },
  ],
  versions_columns: [headOf("name", "Function"), headOf("id", "Version"), headOf("why", "Why")],
  breaks: [
    {
      place: "a.py:9",
      name: "f",
      reason: "print",
      calls: 1,
      gap_ns: 6000,
      hint: "Do not call `print`.",
      callers: null,
      versions: 1,
      link: null,
    },
  ],
  breaks_columns: [headOf("place", "Line"), headOf("hint", "Hint")],
  kernels: [],
  kernels_columns: [],
  lines: [{ place: "a.py:5", total_ns: 7000, ratio: 0.7, kernels: 3 }],
  lines_columns: [headOf("place", "Line"), headOf("kernels", "Kernels", { is_numeric: true })],
  eager: [{ name: HOSTILE, total_ns: 4000, ratio: 0.4, calls: 6 }],
  eager_columns: [headOf("name", "Op")],
  missing: "Not available in this torch: callbacks.",
  no_lines: "",
};

beforeEach(() => {
  const server = fakeServer(catalogOf([runOf("compiled", { workers: { worker0: ["ready"] } })]));
  const view = { stem: "compile", title: "Compile", key: "c", question: "What was compiled?" };
  server.answer("info", { ...INFO, views: [...INFO.views, view] });
  const shown = { stem: "compile", unavailable: null, badge: null };
  server.answer("trace", { ...TRACE, views: [...TRACE.views, shown] });
  server.answer("view/compile", ANSWER);
});

const panel = async (name: string) => within(await screen.findByRole("region", { name }));

it("shows each version with what changed and its place in the trace", async () => {
  const { container } = openPage("#view=compile");
  const versions = await panel("Compiled functions");
  expect(versions.getByText("size 0 of x: 8, 16")).toBeTruthy();
  expect(versions.getByRole("link", { name: "0/1" }).getAttribute("href")).toContain(
    "timeline.select=7",
  );
  expect(versions.getByText("Not available in this torch: callbacks.")).toBeTruthy();
  expect(container.querySelector("img")).toBeNull();
});

it("shows the line and the hint of a break, and no empty panel of kernels", async () => {
  openPage("#view=compile");
  const breaks = await panel("Graph breaks");
  expect(breaks.getByText("a.py:9")).toBeTruthy();
  expect(breaks.getByText("print").tagName).toBe("CODE");
  expect(screen.queryByRole("region", { name: "Fused kernels" })).toBeNull();
});

it("shows time by line, and what runs outside of compiled graphs", async () => {
  const { container } = openPage("#view=compile");
  const lines = await panel("Fused kernels by line");
  expect(lines.getByText("a.py:5")).toBeTruthy();
  expect(lines.getByText("3")).toBeTruthy();
  const eager = await panel("Eager remainder");
  expect(eager.getByText(HOSTILE)).toBeTruthy();
  expect(container.querySelector("img")).toBeNull();
});
