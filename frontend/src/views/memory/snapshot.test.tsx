import { fireEvent, screen, within } from "@testing-library/react";
import { beforeEach, expect, it, vi } from "vitest";
import { catalogOf, runOf } from "../../../test-fixtures/catalog";
import { HEADS } from "../../../test-fixtures/heads.gen";
import {
  ALIVE,
  eventTable,
  MEMORY,
  MIB,
  STEPS,
  statisticsTable,
} from "../../../test-fixtures/memory";
import { openPage } from "../../../test-fixtures/page";
import { INFO, TRACE } from "../../../test-fixtures/resnet";
import { type FakeServer, fakeServer } from "../../../test-fixtures/server";
import type { Column, FreeMemoryAnswer, Memory, MemoryComparison } from "../../api/types.gen";
import { otherSnapshots } from "./compare";
import { frameWords } from "./line";

const catalog = catalogOf([runOf("resnet50", { workers: { worker0: ["ready"] } })]);
let server: FakeServer;

const SNAPSHOT: Memory = {
  ...MEMORY,
  headline: "An allocation of 300 MiB failed: the memory is fragmented.",
  detail: "300 MiB was asked for.",
  is_snapshot: true,
  failure: {
    ts: 50e6,
    requested_bytes: 300 * MIB,
    sentence: "300 MiB was asked for.",
    failures: 1,
    holders: [{ line: "/home/me/model.py(31): forward", bytes: 2 * MIB, blocks: 2 }],
  },
};

const FREE: FreeMemoryAnswer = {
  curve: {
    ...MEMORY.curve,
    reserved: null,
    layers: [
      { key: "unusable", label: "Free but unusable", values: MEMORY.curve.ts.map(() => MIB) },
      { key: "largest", label: "Largest piece of each pool", values: MEMORY.curve.ts.map(() => 0) },
    ],
  },
  worst_ns: 5,
  columns: HEADS.FreePool,
  pools: [
    {
      name: "large, default stream",
      is_private: false,
      reserved_bytes: 8 * MIB,
      free_bytes: 3 * MIB,
      largest_bytes: 2 * MIB,
      unusable_bytes: MIB,
      pieces: 4,
    },
  ],
  sentence: "At 5 ns, 1.00 MiB is free but unusable.",
  missing: "",
};

const COMPARISON: MemoryComparison = {
  sentence: "The peak is 1.00 MiB higher.",
  before_bytes: 2 * MIB,
  after_bytes: 3 * MIB,
  columns: HEADS.ChangedSite,
  sites: [
    {
      site: "/home/me/model.py(31): forward < /home/me/train.py(9): main",
      frames: ["/home/me/model.py(31): forward", "/home/me/train.py(9): main"],
      change: "grown",
      difference_bytes: MIB,
      before_bytes: MIB,
      after_bytes: 2 * MIB,
      before_blocks: 1,
      after_blocks: 2,
      before_allocations: 3,
      after_allocations: 4,
      before_lifetime_ns: null,
      after_lifetime_ns: 2000,
    },
  ],
  before: { at: [0, 1], bytes: [MIB, MIB], steps: 1 },
  after: { at: [0, 1], bytes: [MIB, 2 * MIB], steps: 1 },
};

beforeEach(() => {
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(480);
  vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(1068);
  server = fakeServer(catalog);
  const view = { stem: "memory", title: "Memory", key: "m", question: "What fills the memory?" };
  server.answer("info", { ...INFO, views: [...INFO.views, view] });
  // Nothing but the memory is known: the page opens there.
  const views = INFO.views.map(({ stem }) => ({ stem, unavailable: "no ops", badge: null }));
  server.answer("trace", {
    ...TRACE,
    views: [...views, { stem: "memory", unavailable: null, badge: null }],
  });
  server.answer("view/memory", SNAPSHOT);
  server.answer("view/memory/curve", MEMORY.curve);
  const lines = (heads: readonly Column[]) =>
    heads.map((one) => (one.label === "Operator" ? { ...one, label: "Line of code" } : one));
  for (const [part, table] of [
    ["events", eventTable()],
    ["statistics", statisticsTable()],
  ] as const) {
    server.answer(`view/memory/${part}`, { ...table, columns: lines(table.columns) });
  }
  server.answer("view/memory/alive", ALIVE);
  server.answer("view/memory/steps", STEPS);
  server.answer("view/memory/free", FREE);
  server.answer("view/memory/compare", COMPARISON);
  const map = { device: "cuda:0", bytes: 0, end_ns: 1, bands: [], segments: 0, note: "" };
  server.answer("view/memory/map", { ...map, tile_buckets: 512, tile_rows: 256, missing: "" });
});

const plain = (element: Element | null | undefined) =>
  element?.textContent?.replaceAll("\u00a0", " ") ?? "";

it("opens where it can be seen, with the failure and who held most on top", async () => {
  openPage();
  const head = await screen.findByRole("heading", { level: 1, name: /300 MiB failed/ });
  const hero = head.closest("section");
  expect(plain(hero)).toContain("Most was held by");
  expect(plain(hero)).toContain("forward (2.00 MiB)");
  fireEvent.click(within(hero as HTMLElement).getByRole("button", { name: /alive then/ }));
  await screen.findByRole("heading", { name: /^Alive at/ });
  const asked = server.asked.filter(({ pathname }) => pathname.endsWith("memory/alive")).at(-1);
  expect(asked?.searchParams.get("at_ns")).toBe(String(50e6));
});

it("names lines of code where a trace has operators", async () => {
  openPage("#view=memory");
  expect(await screen.findByRole("columnheader", { name: /Line of code/ })).toBeTruthy();
  expect(frameWords("/home/me/model.py(31): forward", true)).toBe("model.py:31 forward");
  expect(frameWords("D:\\x\\nn.py(7): f", false)).toBe("f (nn.py:7…)");
  expect(frameWords("aten::mm", true)).toBe("aten::mm");
  fireEvent.click(screen.getByRole("radio", { name: "By line" }));
  expect(await screen.findByRole("grid", { name: "Memory by line of code" })).toBeTruthy();
  expect(screen.queryByText("Operator")).toBeNull();
});

it("has no tables of what an exported timeline does not tell", async () => {
  server.answer("view/memory", {
    ...SNAPSHOT,
    is_snapshot: false,
    missing: { ...SNAPSHOT.missing, blocks: "An exported memory timeline has no blocks." },
  });
  openPage("#view=memory");
  const panel = within(await screen.findByRole("region", { name: "In the recording" }));
  expect(panel.getByText(/Events and operators are not available/)).toBeTruthy();
  expect(screen.queryByRole("button", { name: /Which ops allocate/ })).toBeNull();
});

it("says what is free and of no use, by pool", async () => {
  openPage("#view=memory");
  const panel = within(await screen.findByRole("region", { name: "Reserved and free" }));
  const row = await panel.findByRole("row", { name: /large, default stream/ });
  expect(plain(row)).toBe("large, default stream8.00 MiB3.00 MiB2.00 MiB1.00 MiB4");
  expect(panel.getByText(/free but unusable\.$/)).toBeTruthy();
});

it("compares with another snapshot that the address names", async () => {
  const runs = [
    runOf("resnet50", { workers: { worker0: ["ready"] } }),
    runOf("later", { workers: { mem: ["ready"] } }),
  ].map((run) => ({
    ...run,
    workers: run.workers.map((worker) => ({
      ...worker,
      spans: worker.spans.map((span) => ({ ...span, file: `${worker.name}.pickle.gz` })),
    })),
  }));
  const names = otherSnapshots({ runs }, undefined).map(({ name }) => name);
  expect(names).toHaveLength(2);
  server.answer("catalog", { ...catalog, runs });
  const [, name = ""] = names;
  openPage(`#view=memory&memory.other=${encodeURIComponent(name)}`);
  const panel = within(
    await screen.findByRole("region", { name: "Compared with another snapshot" }),
  );
  const row = await panel.findByRole("row", { name: /grown/ });
  expect(plain(row)).toContain("+1.00 MiB1.00 MiB2.00 MiB1 → 2– → 2.00 µs");
  const asked = server.asked.find(({ pathname }) => pathname.endsWith("memory/compare"));
  expect(asked?.searchParams.get("other_run")).toBe("later");
});
