import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { answer, type FakeTrace, fakeSource } from "../../test-fixtures/fake_trace";
import { testPalette } from "../../test-fixtures/palette";
import type { PlacedSlice, TimelineListener, TimelineRow } from "./contract";
import { Engine } from "./engine";
import { directLoader } from "./tiles/loader";

const WIDTH = 1000;
const HEIGHT = 400;

/** Two ops in lane 0 of a millisecond, a kernel of the same length below. */
const trace: FakeTrace = {
  tracks: [
    [
      [
        { ts: 100_000, dur: 200_000, name: 0, kind: 0, flags: 0, slice: 5 },
        { ts: 600_000, dur: 100_000, name: 1, kind: 0, flags: 0, slice: 6 },
      ],
    ],
    [[{ ts: 400_000, dur: 200_000, name: 2, kind: 8, flags: 0, slice: 9 }]],
  ],
  counters: [[{ ts: 0, value: 3 }]],
  names: ["aten::mm", "aten::add", "gemm"],
  endNs: 1_000_000,
};

const track = (number: number): TimelineRow => ({
  type: "track",
  key: `track ${number}`,
  source: 0,
  track: number,
  lanes: 1,
  fullLanes: 12,
  mode: "full",
  firstLane: 0,
});

const rows: TimelineRow[] = [{ type: "heading", key: "process", height: 20 }, track(0), track(1)];
/** Middles of the lanes. */
const Y = { ops: 20 + 2 + 9, kernels: 20 + 23 + 2 + 9 };

function open(status = 200) {
  const element = document.createElement("div");
  document.body.append(element);
  const told: Record<keyof TimelineListener, unknown[][]> = {
    onCamera: [],
    onHover: [],
    onSelect: [],
    onArea: [],
    onMeasure: [],
    onArrow: [],
    onLoading: [],
    onProblem: [],
  };
  const keep =
    (name: keyof TimelineListener) =>
    (...args: unknown[]) =>
      void told[name].push(args);
  const listener = Object.fromEntries(
    Object.keys(told).map((name) => [name, keep(name as keyof TimelineListener)]),
  ) as unknown as TimelineListener;
  const asked: string[] = [];
  const loader = directLoader(async (url) => {
    asked.push(url);
    return status === 200
      ? new Response(answer(trace, url))
      : new Response(JSON.stringify({ error: { message: "Gone.", hint: "" } }), { status });
  });
  const timeline = new Engine(element, listener, testPalette, loader);
  const pointer = (type: string, x: number, y: number, more: PointerEventInit = {}) =>
    element.dispatchEvent(
      new PointerEvent(type, { clientX: x, clientY: y, pointerId: 1, bubbles: true, ...more }),
    );
  const drag = (from: [number, number], to: [number, number], more: PointerEventInit = {}) => {
    pointer("pointerdown", ...from, more);
    pointer("pointermove", (from[0] + to[0]) / 2, to[1], more);
    pointer("pointermove", ...to, more);
    pointer("pointerup", ...to, more);
  };
  return { element, timeline, told, asked, pointer, drag };
}

async function shown(status = 200) {
  const made = open(status);
  made.timeline.setSources([fakeSource(trace)]);
  made.timeline.setRows([], rows);
  made.timeline.show(0, 1_000_000, true);
  await settle();
  return made;
}

/** Frames and answers, for half a second. */
const settle = () => vi.advanceTimersByTimeAsync(500);

const opened: Engine[] = [];

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(WIDTH);
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(HEIGHT);
  HTMLElement.prototype.setPointerCapture = () => undefined;
});

afterEach(() => {
  for (const timeline of opened.splice(0)) {
    timeline.close();
  }
  vi.useRealTimers();
});

/** Where an instant is on the canvas. */
const xOf = (timeline: Engine, instant: number) =>
  (instant - timeline.camera().start) / timeline.camera().nsPerPx;

describe("what the shell is told", () => {
  it("is where the camera is and which rows are seen", async () => {
    const { timeline, told } = await shown();
    opened.push(timeline);
    const [camera, placed] = told.onCamera.at(-1) as [{ start: number }, { row: TimelineRow }[]];
    expect(camera).toEqual(timeline.camera());
    expect(placed.map(({ row }) => row.key)).toEqual(["process", "track 0", "track 1"]);
    expect(xOf(timeline, 0)).toBeCloseTo(0);
    expect(xOf(timeline, 1_000_000)).toBeCloseTo(WIDTH);
  });

  it("is what is loading, down to nothing", async () => {
    const { timeline, told } = await shown();
    opened.push(timeline);
    expect(told.onLoading.at(-1)).toEqual([0]);
    expect(told.onProblem).toEqual([]);
    expect(timeline.stats().tiles).toBeGreaterThanOrEqual(2);
    expect([0, 1, 2].map((code) => timeline.name(0, code))).toEqual(trace.names);
  });

  it("is a problem once, not once per tile", async () => {
    const { timeline, told } = await shown(404);
    opened.push(timeline);
    expect(new Set(told.onProblem.flat())).toEqual(new Set(["Gone."]));
    expect(told.onProblem.length).toBeLessThanOrEqual(2);
  });
});

describe("the pointer", () => {
  it("on a slice tells which it is, off it that there is none", async () => {
    const { timeline, told, pointer } = await shown();
    opened.push(timeline);
    pointer("pointermove", xOf(timeline, 200_000), Y.ops);
    await settle();
    expect(told.onHover.at(-1)?.[0]).toMatchObject({ name: "aten::mm", start: 100_000 });
    pointer("pointermove", xOf(timeline, 200_000), Y.kernels);
    await settle();
    expect(told.onHover.at(-1)?.[0]).toBeNull();
    expect(told.onHover).toHaveLength(2);
  });

  it("selects by a click, and by a second one asks to go there", async () => {
    const { timeline, told, pointer } = await shown();
    opened.push(timeline);
    for (let i = 0; i < 2; i += 1) {
      pointer("pointerdown", xOf(timeline, 500_000), Y.kernels);
      pointer("pointerup", xOf(timeline, 500_000), Y.kernels);
    }
    await settle();
    expect(
      told.onSelect.map(([hit, isDouble]) => [(hit as { name: string }).name, isDouble]),
    ).toEqual([
      ["gemm", false],
      ["gemm", true],
    ]);
  });

  it("drags an area over the rows it passes, its edges on slices", async () => {
    const { timeline, told, drag } = await shown();
    opened.push(timeline);
    drag([xOf(timeline, 105_000), Y.ops], [xOf(timeline, 596_000), Y.kernels]);
    await settle();
    const area = { start: 100_000, end: 600_000, rows: ["track 0", "track 1"] };
    expect(told.onArea.at(-1)).toEqual([area, true]);
  });

  it("drags one edge of the area that is there", async () => {
    const { timeline, told, drag } = await shown();
    opened.push(timeline);
    timeline.setArea({ start: 100_000, end: 450_000, rows: ["track 1"] });
    const x = xOf(timeline, 450_000);
    drag([x + 2, Y.kernels], [xOf(timeline, 601_000), Y.kernels]);
    await settle();
    const area = { start: 100_000, end: 600_000, rows: ["track 1"] };
    expect(told.onArea.at(-1)).toEqual([area, true]);
  });

  it.each([
    ["with Shift", { shiftKey: true }, "select" as const],
    ["with the middle button", { button: 1 }, "select" as const],
    ["in the mode for it", {}, "pan" as const],
  ])("pans %s", async (_how, more, mode) => {
    const { timeline, told, drag } = await shown();
    opened.push(timeline);
    timeline.show(400_000, 500_000, true);
    timeline.setMode(mode);
    const before = timeline.camera();
    drag([500, Y.ops], [400, Y.ops], more);
    await settle();
    expect(timeline.camera().start - before.start).toBeCloseTo(100 * before.nsPerPx);
    expect(told.onArea).toEqual([]);
  });

  it("measures from edge to edge, until another mode is chosen", async () => {
    const { timeline, told, drag } = await shown();
    opened.push(timeline);
    timeline.setMode("measure");
    drag([xOf(timeline, 305_000), Y.ops], [xOf(timeline, 595_000), Y.ops]);
    await settle();
    expect(told.onMeasure.at(-1)).toEqual([{ start: 300_000, end: 600_000, rows: [] }]);
    timeline.setMode("select");
    await settle();
    expect(told.onMeasure.at(-1)).toEqual([null]);
  });

  it("shows the band that is dragged in zoom mode", async () => {
    const { timeline, drag } = await shown();
    opened.push(timeline);
    timeline.setMode("zoom");
    drag([xOf(timeline, 300_000), Y.ops], [xOf(timeline, 400_000), Y.ops]);
    await vi.advanceTimersByTimeAsync(2000);
    expect(timeline.camera().nsPerPx).toBeCloseTo(100_000 / 940);
  });

  it("zooms by dragging up and down in zoom mode", async () => {
    const { timeline, drag } = await shown();
    opened.push(timeline);
    timeline.setMode("zoom");
    const before = timeline.camera().nsPerPx;
    drag([500, 200], [500, 80]);
    await vi.advanceTimersByTimeAsync(2000);
    expect(timeline.camera().nsPerPx / before).toBeCloseTo(Math.exp(-1), 1);
  });

  it("that is dragging lets go by Esc, which then means nothing else", async () => {
    const { timeline, told, pointer } = await shown();
    opened.push(timeline);
    const heard = vi.fn();
    document.addEventListener("keydown", heard);
    pointer("pointerdown", xOf(timeline, 105_000), Y.ops);
    pointer("pointermove", xOf(timeline, 500_000), Y.ops);
    const press = () =>
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
    press();
    pointer("pointerup", xOf(timeline, 500_000), Y.ops);
    await settle();
    expect(told.onArea.at(-1)).toEqual([null, true]);
    expect(told.onSelect).toEqual([]);
    expect(heard).not.toHaveBeenCalled();
    press();
    expect(heard).toHaveBeenCalledOnce();
    document.removeEventListener("keydown", heard);
  });

  it("and a second one pinch: what is between the fingers stays there", async () => {
    const { timeline, pointer } = await shown();
    opened.push(timeline);
    timeline.show(400_000, 600_000, true);
    const middle = xOf(timeline, 500_000);
    const before = timeline.camera().nsPerPx;
    const finger = (type: string, pointerId: number, x: number) =>
      pointer(type, x, Y.ops, { pointerId, pointerType: "touch" });
    finger("pointerdown", 1, middle - 100);
    finger("pointerdown", 2, middle + 100);
    for (let i = 1; i <= 10; i += 1) {
      finger("pointermove", 1, middle - 100 - 10 * i);
      finger("pointermove", 2, middle + 100 + 10 * i);
    }
    await settle();
    expect(timeline.camera().nsPerPx / before).toBeCloseTo(0.5, 1);
    expect(Math.abs(xOf(timeline, 500_000) - middle)).toBeLessThan(15);
  });

  it("clicks an arrow rather than what is below it", async () => {
    const { timeline, told, pointer } = await shown();
    opened.push(timeline);
    const place = (slice: number, number: number, start: number, end: number): PlacedSlice => ({
      key: { source: 0, slice },
      track: number,
      lane: 0,
      start,
      end,
    });
    const arrow = {
      from: place(5, 0, 100_000, 300_000),
      to: place(9, 1, 400_000, 600_000),
      kind: 0,
      count: 1,
      label: "",
    };
    timeline.setArrows([arrow]);
    await settle();
    const x = (xOf(timeline, 300_000) + xOf(timeline, 400_000)) / 2;
    pointer("pointerdown", x, (Y.ops + Y.kernels) / 2);
    pointer("pointerup", x, (Y.ops + Y.kernels) / 2);
    await settle();
    expect(told.onArrow).toEqual([[arrow]]);
    expect(told.onSelect).toEqual([]);
  });
});

describe("the wheel with Ctrl", () => {
  it("zooms, and what is below the pointer stays there", async () => {
    const { element, timeline } = await shown();
    opened.push(timeline);
    const x = xOf(timeline, 600_000);
    for (let i = 0; i < 5; i += 1) {
      const turn = new WheelEvent("wheel", { deltaY: -100 });
      // The browser that runs this test knows of no keys in a WheelEvent.
      Object.defineProperties(turn, { ctrlKey: { value: true }, clientX: { value: x } });
      element.dispatchEvent(turn);
      await settle();
    }
    expect(xOf(timeline, 600_000)).toBeCloseTo(x, 1);
    expect(timeline.camera().nsPerPx).toBeLessThan(300);
  });
});

describe("other data", () => {
  it("of the same trace keeps the tiles, of another layout drops them", async () => {
    const { timeline, asked } = await shown();
    opened.push(timeline);
    const { tiles } = timeline.stats();
    timeline.setSources([fakeSource(trace, { offset: 5000 })]);
    expect(timeline.stats().tiles).toBe(tiles);
    const before = asked.length;
    timeline.setSources([fakeSource(trace, { layout: "merged" })]);
    expect(timeline.stats().tiles).toBe(0);
    await settle();
    expect(asked.slice(before).some((url) => url.includes("layout=merged"))).toBe(true);
    expect(timeline.stats().tiles).toBeGreaterThan(0);
  });
});

describe("a timeline that nobody sees", () => {
  it("draws and asks for nothing", async () => {
    const { timeline, told, asked } = await shown();
    opened.push(timeline);
    timeline.setActive(false);
    const before = [told.onCamera.length, asked.length];
    timeline.show(400_000, 410_000, true);
    await settle();
    expect([told.onCamera.length, asked.length]).toEqual(before);
    timeline.setActive(true);
    await settle();
    expect(told.onCamera.length).toBeGreaterThan(before[0] ?? 0);
  });

  it("leaves nothing behind when it is closed", async () => {
    const { element, timeline, told } = await shown();
    timeline.close();
    const before = told.onCamera.length;
    timeline.show(400_000, 410_000, true);
    await settle();
    expect(element.children).toHaveLength(0);
    expect(told.onCamera).toHaveLength(before);
  });
});

it("the stats are beside the canvas for whoever measures", async () => {
  const { element, timeline } = await shown();
  opened.push(timeline);
  await vi.advanceTimersByTimeAsync(1000);
  expect(JSON.parse(element.dataset["stats"] ?? "{}")).toMatchObject({
    frames: expect.any(Number),
    lastFrameMs: expect.any(Number),
    tiles: expect.any(Number),
  });
});
