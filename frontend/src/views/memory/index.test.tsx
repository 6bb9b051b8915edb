import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { catalogOf, runOf } from "../../../test-fixtures/catalog";
import {
  ALIVE,
  BLOCK,
  EVENTS,
  eventTable,
  MEMORY,
  MIB,
  STEPS,
  statisticsTable,
} from "../../../test-fixtures/memory";
import { openPage } from "../../../test-fixtures/page";
import { INFO, TRACE } from "../../../test-fixtures/resnet";
import { type FakeServer, fakeServer } from "../../../test-fixtures/server";
import type { Memory } from "../../api/types.gen";
import { choiceOf, formatTimeRange, parseTimeRange } from "./choice";

const catalog = catalogOf([runOf("resnet50", { workers: { worker0: ["ready"] } })]);
const WIDTH = 1068;
let server: FakeServer;

beforeEach(() => {
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(480);
  vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(WIDTH);
  HTMLElement.prototype.setPointerCapture = () => undefined;
  server = fakeServer(catalog);
  const view = { stem: "memory", title: "Memory", key: "m", question: "What fills the memory?" };
  server.answer("info", { ...INFO, views: [...INFO.views, view] });
  const filled = { stem: "memory", unavailable: null, badge: null };
  server.answer("trace", { ...TRACE, views: [...TRACE.views, filled] });
  server.answer("view/memory/events", eventTable());
  server.answer("view/memory/statistics", statisticsTable());
  server.answer("view/memory/alive", ALIVE);
  server.answer("view/memory/block", BLOCK);
  server.answer("view/memory/steps", STEPS);
  server.answer("view/memory/map", {
    device: "cuda:0",
    bytes: 0,
    end_ns: 100e6,
    bands: [],
    tile_buckets: 512,
    tile_rows: 256,
    note: "",
    missing: "",
  });
});

async function open(change: Partial<Memory> = {}, fragment = "") {
  server.answer("view/memory", { ...MEMORY, ...change });
  server.answer("view/memory/curve", MEMORY.curve);
  const page = openPage(`#view=memory${fragment}`);
  await screen.findByRole("heading", { level: 1, name: /Activations fill/ });
  return page;
}

const panel = async (name: string | RegExp) => within(await screen.findByRole("region", { name }));
const plain = (element: Element | null | undefined) =>
  element?.textContent?.replaceAll("\u00a0", " ") ?? "";
const askedOf = (route: string) =>
  server.asked.filter((url) => url.pathname.endsWith(`api/view/${route}`)).at(-1)?.searchParams;
const curve = () => screen.findByRole("application", { name: /^Allocated memory/ });
/** The place of an instant of the curve, which goes from 0 to 100 ms. */
const at = (ms: number) => ({ clientX: 58 + (ms / 100) * (WIDTH - 68), button: 0, pointerId: 1 });

async function drag(from: number, to: number) {
  const place = await curve();
  fireEvent.pointerDown(place, at(from));
  fireEvent.pointerMove(place, at((from + to) / 2));
  fireEvent.pointerMove(place, at(to));
  fireEvent.pointerUp(place, at(to));
  return place;
}

describe("the address", () => {
  it("holds a range, and nothing that is none", () => {
    expect(parseTimeRange("100-900")).toEqual({ start: 100, end: 900 });
    expect(["9-9", "9-1", "a-b", "", undefined, "-5-7"].map(parseTimeRange)).toEqual(
      Array(6).fill(null),
    );
    expect(formatTimeRange({ start: 1.4, end: 1.4 })).toBe("1-2");
    const hostile = choiceOf({
      "memory.by": "<b>",
      "memory.alive": "x",
      "memory.t": "-1",
      "memory.zoom": "1",
    });
    expect(hostile).toMatchObject({ by: "category", aliveAt: "peak", instant: 0, isZoomed: false });
  });
});

describe("the curve", () => {
  it("says what the layers come to at the peak, and how sure that is", async () => {
    await open();
    const box = await panel("Allocated memory by what it holds");
    const entries = box.getAllByRole("listitem").map(plain);
    expect(entries.slice(0, 3)).toEqual([
      "Activations 2.00 MiB",
      "Parameters 1.00 MiBmedium",
      "Reserved 4.00 MiB",
    ]);
    expect(box.getByRole("button", { name: /Parameters/ }).title).toContain("Confidence: medium");
  });

  it.each([
    [3, "3"],
    [0.33, "0.33"],
    [0.001, "< 0.01"],
    [0, "0"],
  ])("counts allocations, and never rounds some to 0: %d", async (often, figure) => {
    await open({ churn: { ...MEMORY.churn, allocations_per_step: often } });
    const label = await screen.findByText(/^allocations per step/);
    expect(plain(label.nextElementSibling)).toBe(figure);
  });

  it("says what it is at the instant that the pointer is on", async () => {
    await open();
    fireEvent.pointerMove(await curve(), at(50));
    const box = await panel("Allocated memory by what it holds");
    expect(plain(box.getByText(/^At 50.0/))).toBe("At 50.0 ms: 1.00 MiB");
  });

  it("lets choose a range that both tables are asked about, and leave it with Esc", async () => {
    const { user } = await open();
    const place = await drag(20, 60);
    await waitFor(() => expect(askedOf("memory/events")?.get("start_ns")).toBe("20000000"));
    expect(askedOf("memory/events")?.get("end_ns")).toBe("60000000");
    const head = await panel("Memory events");
    expect(plain(head.getByRole("heading"))).toBe("In the chosen range");
    await user.click(head.getByRole("radio", { name: "By operator" }));
    await waitFor(() => expect(askedOf("memory/statistics")?.get("start_ns")).toBe("20000000"));
    fireEvent.keyDown(place, { key: "Escape" });
    await waitFor(() => expect(askedOf("memory/statistics")?.get("start_ns")).toBe("0"));
    expect(window.location.hash).not.toContain("memory.range");
  });

  it("is led back to all by the right button and by a button", async () => {
    const { user } = await open({}, "&memory.range=20000000-60000000");
    fireEvent.contextMenu(await curve());
    await waitFor(() => expect(window.location.hash).not.toContain("memory.range"));
    // Without a range, the menu of the browser opens.
    expect(fireEvent.contextMenu(await curve())).toBe(true);
    await drag(10, 30);
    await user.click(screen.getByRole("button", { name: /Clear range/ }));
    expect(window.location.hash).not.toContain("memory.range");
  });

  it("goes before the chosen steps: Esc leaves the range, then they are left", async () => {
    const { user } = await open({}, "&steps=6&memory.range=20000000-60000000");
    await user.click(screen.getByRole("radio", { name: "By operator" }));
    await user.keyboard("{Escape}");
    expect(window.location.hash).not.toContain("memory.range");
    expect(window.location.hash).toContain("steps=6");
    await user.keyboard("{Escape}");
    expect(window.location.hash).not.toContain("steps");
  });

  it("takes an end of the range along", async () => {
    await open({}, "&memory.range=20000000-60000000");
    await drag(60, 80);
    expect(window.location.hash).toContain("memory.range=20000000-80000000");
  });

  it("is walked by keys, which choose a range and an instant", async () => {
    await open();
    const place = await curve();
    fireEvent.keyDown(place, { key: "End" });
    fireEvent.keyDown(place, { key: "PageUp", shiftKey: true });
    await waitFor(() => expect(window.location.hash).toContain("memory.range=90000000-100000000"));
    fireEvent.keyDown(place, { key: "Enter" });
    await waitFor(() => expect(askedOf("memory/alive")?.get("at_ns")).toBe("90000000"));
    expect(await panel("Alive at the cursor")).toBeDefined();
  });

  it("is zoomed to the range, asked for once more in detail", async () => {
    const { user } = await open({}, "&memory.range=20000000-60000000");
    await user.click(screen.getByRole("button", { name: "Zoom to it" }));
    await waitFor(() => expect(askedOf("memory/curve")?.get("start_ns")).toBe("20000000"));
    await user.click(screen.getByRole("button", { name: "Zoom out" }));
    expect(window.location.hash).not.toContain("memory.zoom");
  });

  it("is of one device, whose choice forgets the range of the other", async () => {
    const { user } = await open({}, "&memory.range=20000000-60000000");
    await user.selectOptions(screen.getByRole("combobox", { name: "Device" }), "cpu");
    await waitFor(() => expect(askedOf("memory")?.get("device")).toBe("cpu"));
    expect(window.location.hash).not.toContain("memory.range");
  });

  it("without totals is called a change, and says what was not recorded", async () => {
    const why = "Totals were not recorded: record with torch 1.11.";
    const device = {
      ...MEMORY.devices[0],
      peak_bytes: null,
      peak_reserved_bytes: null,
      has_blocks: false,
      missing: { totals: why, reserved: why, blocks: "Addresses were not recorded." },
    } as Memory["devices"][number];
    await open({
      devices: [device],
      curve: { ...MEMORY.curve, is_change: true, reserved: null, layers: [] },
      without: [],
    });
    const box = await panel("Change of allocated memory");
    expect(box.getByText(why)).toBeDefined();
    fireEvent.keyDown(box.getByRole("application"), { key: "Enter" });
    expect(window.location.hash).not.toContain("memory.alive");
    expect(box.getByRole("radio", { name: "Category" })).toHaveProperty("disabled", true);
    expect(
      (await panel("Alive at the peak")).getByText(/Addresses were not recorded/),
    ).toBeDefined();
    // The statistics need no blocks.
    const table = await panel("Memory by operator");
    expect(table.getByText(/Events are not available/)).toBeDefined();
    expect(await table.findByText("aten::mm")).toBeDefined();
  });
});

describe("the tables", () => {
  const cells = async () => {
    const table = await screen.findByRole("treegrid", { name: "Memory events" });
    await within(table).findByText("aten::mm");
    return [...table.querySelectorAll(".dt-cells")].map((row) =>
      [...row.querySelectorAll("td")].map(plain),
    );
  };

  it("say in words where a time is missing", async () => {
    await open();
    expect(await cells()).toEqual([
      ["▸aten::mmlayer1", "2.00 MiB", "10.0", "30.0", "20.0 ms", " Activations"],
      ["▸(outside of ops)", "1.00 MiB", "before recording", "30.0", "–", " Parameters"],
      ["▸aten::ones (aten::empty)layer1", "512 B", "10.0", "after recording", "–", " Activations"],
    ]);
  });

  it("are sorted, searched and narrowed by size on the server", async () => {
    const { user } = await open();
    await cells();
    expect(askedOf("memory/events")?.get("sort_by")).toBe("bytes");
    expect(askedOf("memory/events")?.get("ascending")).toBe("false");
    await user.click(screen.getByRole("button", { name: /^Allocated/ }));
    await waitFor(() => expect(askedOf("memory/events")?.get("sort_by")).toBe("allocated_ns"));
    expect(askedOf("memory/events")?.get("ascending")).toBe("false");
    await user.type(screen.getByLabelText("Filter by operator"), "mm");
    await user.type(screen.getByLabelText("Smallest size"), "1 MiB");
    await waitFor(() => expect(askedOf("memory/events")?.get("min_bytes")).toBe(String(MIB)));
    expect(askedOf("memory/events")?.get("search")).toBe("mm");
    await user.clear(screen.getByLabelText("Smallest size"));
    await user.type(screen.getByLabelText("Smallest size"), "ten");
    expect(screen.getByLabelText("Smallest size").getAttribute("aria-invalid")).toBe("true");
    expect(window.location.hash).not.toContain("memory.min");
  });

  it("open a block: the ops around its ends, and why it is in its category", async () => {
    const { user } = await open();
    await cells();
    await user.click(screen.getByText("aten::mm", { selector: ".base" }));
    const block = await panel("Allocated");
    expect(block.getAllByRole("listitem").map(plain)).toEqual(["aten::mm", "aten::linear"]);
    const door = block.getByRole("link", { name: "The op in the trace" });
    expect(door.getAttribute("href")).toContain("timeline.select=41");
    expect((await panel("What it holds")).getByText(/Confidence: high/)).toBeDefined();
  });

  it("by operator have the seven columns with their definitions", async () => {
    await open({}, "&memory.tab=operators");
    const table = await screen.findByRole("grid", { name: "Memory by operator" });
    await within(table).findByText("aten::mm");
    expect(within(table).getAllByRole("columnheader").map(plain)).toEqual([
      "Operator",
      "Calls",
      "Size increase",
      "Self size increase↓",
      "Allocations",
      "Self allocations",
      "Allocation size",
      "Self allocation size",
    ]);
    const head = within(table).getByRole("columnheader", { name: /^Size increase/ });
    fireEvent.focus(within(head).getByRole("button"));
    expect(within(table).getByRole("tooltip").textContent).toBe(
      "Allocated less released, with everything it called.",
    );
    expect([...table.querySelectorAll(".dt-cells td")].map(plain)).toEqual([
      "aten::mm",
      "7",
      "2.00 MiB",
      "−1.00 MiB",
      "3",
      "1",
      "4.00 MiB",
      "1.00 MiB",
    ]);
  });

  it("say what the filters hide when nothing is left", async () => {
    server.answer("view/memory/events", eventTable([]));
    await open({}, "&memory.search=nothing");
    expect(plain(await screen.findByText(/No such block/))).toContain(
      "3 blocks without the filters",
    );
  });
});

describe("what is alive", () => {
  it("is a box for each size, whose blocks and op are a press away", async () => {
    const { user } = await open();
    const alive = await panel("Alive at the peak");
    const box = await alive.findByTitle(/layer1 › aten::mm/);
    expect(plain(box)).toBe("Activations · layer12.00 MiBaten::mmforward (net.py:7…)");
    await user.click(box);
    const chosen = await alive.findByRole("status");
    expect(plain(chosen)).toContain("2.00 MiB, 66.7 % · 1 block");
    expect(
      within(chosen).getByRole("link", { name: "The op in the trace" }).getAttribute("href"),
    ).toContain("timeline.select=41");
    await user.click(within(chosen).getByRole("button", { name: "Its blocks in the table" }));
    await waitFor(() => expect(askedOf("memory/events")?.get("category")).toBe("activation"));
    expect(askedOf("memory/events")?.get("max_bytes")).toBe(String(2 * MIB));
    expect(askedOf("memory/events")?.get("search")).toBe("aten::mm");
  });

  it("is walked by arrows, from one box to the next", async () => {
    await open();
    const alive = await panel("Alive at the peak");
    const boxes = await alive.findAllByTitle(/ › .*MiB$/);
    fireEvent.keyDown(boxes[0] as Element, { key: "ArrowRight" });
    expect(document.activeElement).toBe(boxes[1]);
    expect(boxes[1]?.getAttribute("aria-pressed")).toBe("true");
  });

  it("is of the second peak, too", async () => {
    const { user } = await open();
    await user.click(
      (await panel("Second peak")).getByRole("button", { name: "What is alive then" }),
    );
    await waitFor(() => expect(askedOf("memory/alive")?.get("at")).toBe("second"));
  });
});

describe("from step to step", () => {
  it("leads from a step to its range on the curve", async () => {
    const { user } = await open();
    const steps = await panel("From step to step");
    await user.click(await steps.findByRole("button", { name: "2" }));
    expect(window.location.hash).toContain("memory.range=50000000-100000000");
  });

  it("names the sites of a leak, as text", async () => {
    const evil = "<img src=x>";
    server.answer("view/memory/steps", {
      ...STEPS,
      growth: { ...STEPS.growth, verdict: "leak" },
      sites: [
        { name: evil, module: "", line: "", bytes: MIB, count: 5, steps: 5, block: 3, slice: 41 },
      ],
      causes: ["a list that grows"],
    });
    const { container } = await open();
    const steps = await panel("From step to step");
    const site = await steps.findByRole("link", { name: evil });
    expect(plain(site.closest("li"))).toContain("5.00 MiB: 5 × 1.00 MiB in 5 steps");
    expect(container.querySelector("img")).toBeNull();
    expect(steps.getByText("a list that grows")).toBeDefined();
  });
});

it("a part that fails says so, and the others stay", async () => {
  server.answer("view/memory/alive", {
    status: 500,
    body: { error: { kind: "internal", message: "Something broke.", hint: "" } },
  });
  await open();
  expect(await (await panel("Alive at the peak")).findByText("Something broke.")).toBeDefined();
  expect(await screen.findByText("aten::mm", { selector: ".dt-cells .base" })).toBeDefined();
  expect(EVENTS.length).toBe(3);
});
