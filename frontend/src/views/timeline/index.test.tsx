import { act, screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { catalogOf, progressOf, runOf } from "../../../test-fixtures/catalog";
import { openPage } from "../../../test-fixtures/page";
import { INFO, TRACE } from "../../../test-fixtures/resnet";
import { type FakeServer, fakeServer, refusal } from "../../../test-fixtures/server";
import {
  AREA,
  DETAILS,
  FLAME,
  FLOWS,
  MANIFEST,
  ROWS,
  SEARCH,
  sliceOf,
} from "../../../test-fixtures/timeline";
import {
  CANVAS_SIZE,
  CANVAS_WIDTH,
  fakeCanvas,
  shownRange,
  sliceHit,
} from "../../../test-fixtures/timeline_engine";
import { KIND } from "../../base/style/kind_hues";
import type { OpenTimeline } from "../../timeline/contract";
import { idOf } from "./state/arrangement";

const canvas = vi.hoisted(() => ({ open: null as OpenTimeline | null }));
vi.mock("../../timeline/engine", () => ({
  openTimeline: (...given: Parameters<OpenTimeline>) => canvas.open?.(...given),
}));

const { told, hand, open } = fakeCanvas();
const ranks = runOf("ranks", { workers: { rank0: ["ready"], rank1: ["ready"] } });
const VIEW = { stem: "timeline", title: "Trace", key: "t", question: "What ran when?" };
let server: FakeServer;

beforeEach(() => {
  canvas.open = open;
  // Without layout nothing has a size.
  vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(CANVAS_WIDTH);
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(960);
  // A window in which the details have room of their own.
  vi.spyOn(window, "matchMedia").mockReturnValue({
    ...window.matchMedia("all"),
    matches: false,
    addEventListener() {},
    removeEventListener() {},
  });
  server = fakeServer(catalogOf([ranks]));
  server.answer("info", { ...INFO, views: [...INFO.views, VIEW] });
  server.answer("trace", {
    ...TRACE,
    steps: MANIFEST.steps.map(({ index, name }) => ({
      index,
      number: 15 + index,
      name,
      dur_ns: 16e6,
      excluded: null,
      outlier: false,
    })),
    views: [{ stem: "timeline", unavailable: null, badge: null }],
  });
  server.answer("view/timeline", MANIFEST);
  server.answer("view/timeline/slice", DETAILS);
  server.answer("view/timeline/search", SEARCH);
  server.answer("view/timeline/area", AREA);
  server.answer("view/timeline/flame", FLAME);
  server.answer("view/timeline/rows", ROWS);
  server.answer("view/timeline/flows", FLOWS);
  // Bytes that are none: the minimap stays empty, and nothing else minds.
  server.answer("view/timeline/minimap", {});
  server.answer("view/timeline/tiles", {});
});

const plain = (element: Element | null | undefined) =>
  element?.textContent?.replaceAll("\u00a0", " ") ?? "";
const hash = () => new URLSearchParams(window.location.hash.slice(1));

async function openTrace(more = "") {
  const page = openPage(`#view=timeline&run=ranks&worker=rank0&span=1${more}`);
  await screen.findByRole("heading", { level: 1, name: /Trace of rank0/ });
  await waitFor(() => expect(told.rows.length).toBeGreaterThan(0));
  return page;
}

const asked = (part: string) =>
  server.asked.filter((url) => url.pathname.endsWith(`api/view/timeline${part}`));
const found = async () =>
  within(await screen.findByRole("listbox", { name: "Names found" })).getByRole("option");
const details = () => within(screen.getByRole("complementary", { name: "Details" }));

describe("opening the timeline", () => {
  it("shows all of the trace, with a label beside each row", async () => {
    await openTrace();
    expect(told.sources[0]?.query).toBe("run=ranks&worker=rank0&span=1&digest=digest-1");
    expect(told.sources[0]?.base).toMatch(/\/api\/view\/timeline\/$/);
    const rows = within(screen.getByRole("list", { name: "Tracks" })).getAllByRole("listitem");
    expect(rows.map(plain)[1]).toContain("Main thread · opsthread 542");
    expect(rows).toHaveLength(9);
    const [start, end] = shownRange(told);
    expect(start).toBeLessThanOrEqual(0);
    expect(end).toBeGreaterThanOrEqual(48_000_000);
  });

  it("marks the beginning that is not judged, and only where there is one", async () => {
    const { unmount } = await openTrace();
    expect(screen.queryByRole("button", { name: /^Not judged/ })).toBeNull();
    unmount();
    server.answer("view/timeline", { ...MANIFEST, head_ns: 8_000_000 });
    await openTrace();
    expect(screen.getByText("Head")).toBeDefined();
    const head = screen.getByRole("button", { name: /^Not judged/ });
    expect(plain(head)).toContain("Not judged");
    expect(head.title.replaceAll("\u00a0", " ")).toBe(
      "Not judged, 8.00 ms\nthe device was on work launched before the recording",
    );
  });

  it("says how far its preparation is, and opens by itself", async () => {
    const progress = progressOf({ phase: "laying out lanes", seconds_left: null });
    server.answer("view/timeline", { status: 202, body: { reading: progress } });
    openPage("#view=timeline&run=ranks&worker=rank0&span=1");
    await screen.findByRole("heading", { name: "Preparing the timeline" });
    expect(screen.getByRole("progressbar").getAttribute("aria-valuenow")).toBe("38");
    expect(plain(screen.getByText(/laying out lanes/))).toContain("38 % · 3.40 M events");
    server.answer("view/timeline", MANIFEST);
    await screen.findByRole("heading", { name: /Trace of rank0/ });
  });

  it("says why it cannot be shown, and tries again", async () => {
    server.answer("view/timeline", refusal(409, "disk", "The disk is full.", "Make room."));
    const { user } = openPage("#view=timeline&run=ranks&worker=rank0&span=1");
    expect((await screen.findByRole("alert")).textContent).toContain("The disk is full.");
    server.answer("view/timeline", MANIFEST);
    await user.click(screen.getByRole("button", { name: "Try again" }));
    await screen.findByRole("heading", { name: /Trace of rank0/ });
  });
});

describe("a link", () => {
  it("restores what was shown: range, selection, area, search, arrangement, panel", async () => {
    const rows = `p.${idOf("stream/2/4")}~h.${idOf("thread/542/639/python")}`;
    await openTrace(
      `&timeline.at=1000000-2000000&timeline.select=9904&timeline.area=500-900_${idOf("stream/2/0")}` +
        `&timeline.find=conv2d&timeline.rows=${rows}&timeline.mode=measure&timeline.tab=gpu`,
    );
    expect(shownRange(told)).toEqual([1_000_000, 2_000_000]);
    expect(told.area).toEqual({ start: 500, end: 900, rows: ["stream/2/0"] });
    expect(told.pinned.map((row) => row.key)).toEqual(["stream/2/4"]);
    expect(told.rows.map((row) => row.key)).not.toContain("thread/542/639/python");
    expect(told.mode).toBe("measure");
    await waitFor(() => expect(told.selection?.key).toEqual({ source: 0, slice: 9904 }));
    await waitFor(() => expect([...(told.highlight?.get(0) ?? [])]).toEqual([7]));
    expect(
      await screen.findByRole("tab", { name: "GPU busy and gaps", selected: true }),
    ).toBeDefined();
    expect(shownRange(told)).toEqual([1_000_000, 2_000_000]);
  });

  it("shows the steps that are chosen", async () => {
    await openTrace("&steps=16");
    const [start, end] = shownRange(told);
    expect(start).toBeLessThan(16_000_000);
    expect(start).toBeGreaterThan(15_000_000);
    expect(end).toBeGreaterThan(32_000_000);
  });

  it("goes to a slice that it names", async () => {
    await openTrace("&timeline.select=9904");
    await waitFor(() => {
      const [start, end] = shownRange(told);
      expect(start).toBeGreaterThan(0);
      expect(start).toBeLessThan(DETAILS.slice.ts);
      expect(end).toBeGreaterThan(DETAILS.slice.ts);
    });
    expect(told.revealed).toContainEqual(["thread/542/542/ops", 2]);
  });

  it("goes to the first slice of a name", async () => {
    server.answer("view/timeline/hit", { to: sliceOf(9904), position: 1, count: 117 });
    await openTrace("&timeline.find=aten%3A%3Aconv2d&timeline.match=exact");
    await waitFor(() => expect(hash().get("timeline.select")).toBe("9904"));
    expect(asked("/search")[0]?.searchParams.get("mode")).toBe("exact");
  });

  it("to a hidden frame shows all frames, or nothing would be seen of it", async () => {
    const hidden = { ...DETAILS.slice, track: -1, lane: -1 };
    server.answer("view/timeline/slice", { ...DETAILS, slice: hidden });
    await openTrace("&timeline.select=9904");
    await waitFor(() => expect(hash().get("timeline.layout")).toBe("split"));
  });

  it("with nonsense in it opens as if that was not there", async () => {
    await openTrace(
      "&timeline.at=x&timeline.select=-1&timeline.area=9-3&timeline.rows=<b>&timeline.tab=y",
    );
    expect(told.selection).toBeNull();
    expect(told.area).toBeNull();
  });

  it("writes down where the view rests", async () => {
    await openTrace();
    act(() => hand.onCamera({ start: 5000, nsPerPx: 2, scrollY: 40 }, [], CANVAS_SIZE));
    await waitFor(() => expect(hash().get("timeline.at")).toBe("5000-7000"));
    expect(hash().get("timeline.y")).toBe("40");
  });
});

describe("streams of replayed graphs", () => {
  const layouts = () => asked("").map((url) => url.searchParams.get("layout"));

  it("are folded where the server says so, and shown one by one at a press", async () => {
    const folded = { ...MANIFEST, layout: "user", graph_streams: 300, is_folded: true };
    server.answer("view/timeline", folded);
    const { user } = await openTrace();
    expect(layouts().at(-1)).toBe("user");
    server.answer("view/timeline", { ...folded, layout: "user-recorded", is_folded: false });
    await user.click(screen.getByRole("button", { name: "Graphs: folded" }));
    expect(hash().get("timeline.streams")).toBe("recorded");
    await waitFor(() => expect(layouts().at(-1)).toBe("user-recorded"));
    await screen.findByRole("button", { name: /^Graphs: 300.streams$/ });
    // And back, by key.
    server.answer("view/timeline", { ...folded, layout: "user-folded" });
    await user.keyboard("u");
    expect(hash().get("timeline.streams")).toBe("folded");
    await screen.findByRole("button", { name: "Graphs: folded" });
  });

  it("stay as they were while the other layout is prepared", async () => {
    const folded = { ...MANIFEST, layout: "user", graph_streams: 300, is_folded: true };
    server.answer("view/timeline", folded);
    const { user } = await openTrace();
    server.answer("view/timeline", { status: 202, body: { reading: progressOf({}) } });
    await user.click(screen.getByRole("button", { name: "Graphs: folded" }));
    expect(plain(await screen.findByText(/This layout is prepared/))).toContain("38 %");
    expect(screen.getByRole("list", { name: "Tracks" })).toBeDefined();
    server.answer("view/timeline", { ...folded, layout: "user-recorded", is_folded: false });
    await screen.findByRole("button", { name: /^Graphs: 300.streams$/ });
    expect(screen.queryByText(/This layout is prepared/)).toBeNull();
  });

  it("keep what is selected in sight", async () => {
    const manifest = { ...MANIFEST, layout: "user-folded", graph_streams: 9, is_folded: true };
    server.answer("view/timeline", manifest);
    const { user } = await openTrace("&timeline.streams=folded&timeline.at=1-48000000");
    act(() => hand.onSelect(sliceHit(), false));
    await waitFor(() => expect(details().getByText("Duration")).toBeDefined());
    expect(told.revealed).toEqual([]);
    server.answer("view/timeline", { ...manifest, layout: "user-recorded", is_folded: false });
    await user.click(screen.getByRole("button", { name: "Graphs: folded" }));
    await waitFor(() => expect(told.revealed).toContainEqual(["thread/542/542/ops", 2]));
  });

  it("leave an area on tracks that are no more on all of them", async () => {
    server.answer("view/timeline", { ...MANIFEST, graph_streams: 9, is_folded: true });
    const { user } = await openTrace(`&timeline.area=500-900_${idOf("stream/2/0")}`);
    await user.click(screen.getByRole("button", { name: "Graphs: folded" }));
    expect(hash().get("timeline.area")).toBe("500-900");
    expect(screen.getByText("The area is on all tracks now")).toBeDefined();
  });

  it("are not spoken of where no graph was replayed", async () => {
    const { user } = await openTrace();
    expect(screen.queryByRole("button", { name: /^Graphs/ })).toBeNull();
    await user.keyboard("u");
    expect(hash().get("timeline.streams")).toBeNull();
    expect(screen.getByText("No replay of a graph was recorded")).toBeDefined();
  });
});

describe("a selected slice", () => {
  it("is drawn at once, told in full, and read aloud", async () => {
    await openTrace();
    act(() => hand.onSelect(sliceHit(), false));
    expect(told.selection).toMatchObject({ track: 0, lane: 2, start: 19_930_000 });
    expect(hash().get("timeline.select")).toBe("9904");
    await details()
      .findByText("3.6×", { exact: false })
      .catch(() => null);
    const words = plain(screen.getByRole("complementary", { name: "Details" }));
    expect(words).toContain("3.93 ms in step 16");
    expect(words).toContain("229 µs self 1.00 µs");
    expect(words).toContain("3.60× the median of 60 calls, the longest");
    expect(words).toContain("ResNet_0Conv2d_14");
    expect(words).toContain("queued 29.9 ms");
    expect(words).toContain("10×256×14×14BFloat16");
    expect(words).toContain("resnet.py(89): forward");
    expect(words).toContain("Sequence number1249");
    expect(
      screen.getByText("aten::conv2d, 229 µs, Main thread · ops, depth 43, ProfilerStep#16"),
    ).toBeDefined();
  });

  it("leads to what it is linked with, in sight", async () => {
    const { user } = await openTrace("&timeline.at=19000000-21000000&timeline.select=9904");
    await user.click(await details().findByRole("button", { name: /igemm_fwd/ }));
    expect(hash().get("timeline.select")).toBe("47001");
    const [start, end] = shownRange(told);
    expect(start).toBeLessThan(40_000_000);
    expect(end).toBeGreaterThan(40_022_900);
    expect(told.revealed.at(-1)).toEqual(["stream/2/0", 0]);
  });

  it("shows a row that was hidden when something in it is gone to", async () => {
    const { user } = await openTrace(
      `&timeline.at=19000000-21000000&timeline.select=9904&timeline.rows=h.${idOf("device/2")}`,
    );
    expect(told.rows.map((row) => row.key)).not.toContain("stream/2/0");
    await user.click(await details().findByRole("button", { name: /igemm_fwd/ }));
    expect(told.rows.map((row) => row.key)).toContain("stream/2/0");
    expect(told.revealed.at(-1)).toEqual(["stream/2/0", 0]);
  });

  it("has its arrows, with a word at the first", async () => {
    await openTrace("&timeline.select=9904");
    await waitFor(() => expect(told.arrows).toHaveLength(1));
    expect(told.arrows[0]).toMatchObject({ kind: 1, from: { key: { slice: 9904 } } });
    expect(told.arrows[0]?.label).toMatch(/^backward, /);
  });

  it("opens its subtree by a double press on a frame", async () => {
    await openTrace();
    act(() => hand.onSelect(sliceHit({ row: "thread/542/542/python", kind: 3, lane: 12 }), true));
    const row = told.rows.find(({ key }) => key === "thread/542/542/python");
    expect(row).toMatchObject({ firstLane: 12 });
    expect(shownRange(told)[0]).toBeLessThan(19_930_000);
  });
});

describe("the search", () => {
  it("counts hits, lists names, and walks from hit to hit", async () => {
    server.answer("view/timeline/hit", { to: sliceOf(9904), position: 54, count: 117 });
    const { user } = await openTrace();
    await user.keyboard("/");
    await user.keyboard("conv");
    expect(await screen.findByText("117 hits")).toBeDefined();
    expect(plain(await found())).toBe("aten::conv2d117×8.82 ms");
    await user.keyboard("{Enter}");
    expect(await screen.findByText("54 of 117")).toBeDefined();
    expect(hash().get("timeline.find")).toBe("conv");
    expect(asked("/hit")[0]?.searchParams.get("direction")).toBe("next");
    await user.keyboard("{Shift>}{Enter}{/Shift}");
    await waitFor(() =>
      expect(asked("/hit").at(-1)?.searchParams.get("direction")).toBe("previous"),
    );
  });

  it("finds one name alone when it is picked from the list", async () => {
    const { user } = await openTrace();
    await user.keyboard("/");
    await user.keyboard("conv");
    await found();
    await user.keyboard("{ArrowDown}{Enter}");
    await waitFor(() => expect(hash().get("timeline.match")).toBe("exact"));
    expect(hash().get("timeline.find")).toBe("aten::conv2d");
  });

  it("says what is wrong with a regular expression", async () => {
    server.answer("view/timeline/search", {
      ...SEARCH,
      problem: "missing )",
      slices: 0,
      codes: [],
    });
    await openTrace("&timeline.find=%28&timeline.match=regex");
    expect(await screen.findByText("missing )")).toBeDefined();
  });
});

describe("an area", () => {
  it("opens the panel with what lies in it", async () => {
    const { user } = await openTrace();
    const area = { start: 29_262_000, end: 34_400_000, rows: ["stream/2/0", "stream/2/4"] };
    act(() => hand.onArea(area, false));
    expect(hash().get("timeline.area")).toBeNull();
    act(() => hand.onArea(area, true));
    const panel = within(await screen.findByRole("region", { name: "Area" }));
    await waitFor(() =>
      expect(plain(panel.getByRole("heading"))).toBe(
        "Area 5.14 ms2 tracks · 658 slices · 1 slice clipped at the edge",
      ),
    );
    expect(asked("/area").at(-1)?.searchParams.get("tracks")).toBe("4-5");
    const rows = panel.getAllByRole("row").slice(1).map(plain);
    expect(rows[0]).toContain("ncclDevKernel_Generic");
    expect(rows[0]).toContain("2.35 ms82.4 %");
    expect(rows[1]).toContain("502 µs17.6 %");
    await user.click(panel.getByRole("button", { name: /Count/ }));
    expect(plain(panel.getAllByRole("row")[1])).toContain("batched_transpose");
    await user.click(panel.getByRole("tab", { name: "GPU busy and gaps" }));
    expect(plain((await panel.findAllByRole("row"))[1])).toContain("GPU 2");
    await user.click(panel.getByRole("tab", { name: "Counters" }));
    expect(plain(panel.getAllByRole("row")[1])).toContain("800.50");
    await user.click(panel.getByRole("tab", { name: "Slices" }));
    await panel.findByText(/batched_transpose/);
    await user.click(panel.getByRole("tab", { name: "Flame graph" }));
    expect(await panel.findByText(/3 boxes too small/)).toBeDefined();
    await user.click(panel.getByRole("button", { name: "Show as table" }));
    expect(panel.getAllByRole("row").map(plain)[2]).toContain("forward60.0 µs60.0 µs2");
  });

  it("sums each kind of track for itself, so that no share is above 100 %", async () => {
    const [, kernel] = AREA.rows;
    const row = (name: number, text: string, kind: number, self_ns: number) => ({
      ...(kernel as (typeof AREA.rows)[number]),
      name,
      text,
      kind,
      self_ns,
      total_ns: 4 * self_ns,
    });
    const rows = [
      row(1, "gemm", KIND.compute, 300),
      row(2, "nccl", KIND.communication, 100),
      row(3, "aten::mm", KIND.op, 600),
      row(4, "aten::add", KIND.op, 200),
      row(5, "ProfilerStep#7", KIND.annotation, 50),
    ];
    server.answer("view/timeline/area", { ...AREA, row_count: 5, rows });
    const { user } = await openTrace();
    act(() => hand.onArea({ start: 1, end: 9, rows: ["stream/2/0"] }, true));
    const panel = within(await screen.findByRole("region", { name: "Area" }));
    const shares = () =>
      panel
        .getAllByRole("row")
        .slice(1)
        .map((one) =>
          plain(one)
            .match(/^(\S+?)\d.*?([\d.]+ %)/)
            ?.slice(1),
        );
    await panel.findByText("gemm");
    expect(panel.getAllByRole("radio").map((one) => plain(one.closest("label")))).toEqual([
      "Device",
      "Operators",
      "Ranges",
      "All",
    ]);
    expect(shares().map((one) => one?.[1])).toEqual(["75.0 %", "25.0 %"]);
    await user.click(panel.getByRole("radio", { name: "Operators" }));
    expect(panel.queryByText("ProfilerStep#7")).toBeNull();
    expect(shares().map((one) => one?.[1])).toEqual(["75.0 %", "25.0 %"]);
    await user.click(panel.getByRole("radio", { name: "Ranges" }));
    expect(shares().map((one) => one?.[1])).toEqual(["100.0 %"]);
  });

  it("of the view is what the panel speaks of without one", async () => {
    const { user } = await openTrace("&timeline.at=1000-2000");
    await user.keyboard("q");
    const panel = within(await screen.findByRole("region", { name: "Area" }));
    await waitFor(() => expect(plain(panel.getByRole("heading"))).toContain("In view 1.00 µs"));
    expect(asked("/area").at(-1)?.searchParams.get("start_ns")).toBe("1000");
  });
});

describe("keys", () => {
  it("move while they are held", async () => {
    const { user } = await openTrace();
    await user.keyboard("{w>}{/w}{Shift>}d{/Shift}");
    expect(told.pressed).toEqual([
      ["in", false],
      ["right", true],
    ]);
    expect(told.released).toContain("in");
  });

  it("begin with the first slice in view, and walk from there", async () => {
    const { user } = await openTrace();
    server.answer("view/timeline/move", { to: sliceOf(9905), position: 0, count: 0 });
    await user.keyboard(".");
    await waitFor(() => expect(hash().get("timeline.select")).toBe("47002"));
    await user.keyboard(".");
    await waitFor(() => expect(hash().get("timeline.select")).toBe("9905"));
    expect(asked("/move")[0]?.searchParams.get("by")).toBe("lane");
    await user.keyboard("]");
    await waitFor(() => expect(asked("/move").at(-1)?.searchParams.get("by")).toBe("flow"));
    expect(hash().get("steps")).toBeNull();
  });

  it("say that there is nothing more", async () => {
    server.answer("view/timeline/move", { to: null, position: 0, count: 0 });
    const { user } = await openTrace("&timeline.select=9904");
    await user.keyboard("n");
    expect(await screen.findByText("No other slice of this name there")).toBeDefined();
  });

  it("clear the innermost thing first", async () => {
    const { user } = await openTrace(
      "&timeline.select=9904&timeline.area=5-9&timeline.find=x&steps=16",
    );
    await user.keyboard("{Escape}");
    expect(hash().get("timeline.area")).toBeNull();
    await user.keyboard("{Escape}");
    expect(hash().get("timeline.select")).toBeNull();
    await user.keyboard("{Escape}");
    expect(hash().get("timeline.find")).toBeNull();
    expect(hash().get("steps")).toBe("16");
    await user.keyboard("{Escape}");
    expect(hash().get("steps")).toBeNull();
  });

  it("leave the page its own: g and a letter, typing in a field", async () => {
    const { user } = await openTrace();
    await user.keyboard("gh");
    await waitFor(() => expect(hash().get("view")).toBe("health"));
    expect(told.isOpen).toBe(false);
  });

  it("keep a note, which the address carries", async () => {
    const { user } = await openTrace("&timeline.area=500-900");
    await user.keyboard("{Shift>}m{/Shift}");
    const field = await screen.findByRole("textbox", { name: "Note" });
    await user.type(field, "slow here{Enter}");
    await waitFor(() => expect(hash().get("timeline.notes")).toBe("500_900_slow here"));
    expect(told.markers).toEqual([{ id: "note-0", at: 500, end: 900, text: "slow here" }]);
  });

  it("are listed, and offered in the palette", async () => {
    const { user } = await openTrace();
    await user.keyboard("?");
    const help = await screen.findByRole("dialog", { name: "Keys" });
    expect(help.textContent).toContain("Next slice of the same name");
    expect(help.textContent).not.toContain("Previous and next step");
    await user.keyboard("{Escape}");
    await user.keyboard("{Control>}k{/Control}");
    await user.type(screen.getByRole("combobox", { name: /command/ }), "pointer measure{Enter}");
    await waitFor(() => expect(hash().get("timeline.mode")).toBe("measure"));
  });
});

describe("rows", () => {
  it("are pinned, hidden and unfolded from their menu", async () => {
    const { user } = await openTrace();
    await user.click(screen.getByRole("button", { name: "Track Stream 4 · RCCL" }));
    await user.click(screen.getByRole("menuitem", { name: /Pin/ }));
    expect(told.pinned.map((row) => row.key)).toEqual(["stream/2/4"]);
    await user.click(screen.getByRole("button", { name: "Track Autograd · ops" }));
    await user.click(screen.getByRole("menuitem", { name: /Hide/ }));
    expect(screen.getByRole("button", { name: "Tracks, 6 of 7 shown" })).toBeDefined();
    await user.click(screen.getByRole("button", { name: "+39 deeper" }));
    expect(told.rows.find(({ key }) => key === "thread/542/542/python")).toMatchObject({
      fullLanes: 47,
      lanes: 47,
    });
    expect(hash().get("timeline.rows")).toContain(`p.${idOf("stream/2/4")}`);
  });

  it("are filtered in the list of tracks", async () => {
    const { user } = await openTrace();
    await user.click(screen.getByRole("button", { name: "Tracks, 7 of 7 shown" }));
    await user.type(await screen.findByRole("searchbox", { name: "Filter the tracks" }), "stream");
    await user.click(screen.getByRole("button", { name: "Show only these" }));
    expect(told.rows.filter((row) => row.type === "track").map((row) => row.key)).toEqual([
      "stream/2/0",
      "stream/2/4",
    ]);
  });

  it("are walked by arrows", async () => {
    const { user } = await openTrace();
    const heading = screen.getByRole("button", { name: "Process 542 · rank 0" });
    act(() => heading.focus());
    await user.keyboard("{ArrowDown}");
    await waitFor(() =>
      expect(document.activeElement?.getAttribute("data-row")).toBe("thread/542/542/ops"),
    );
    await user.keyboard("h");
    expect(told.rows.map((row) => row.key)).not.toContain("thread/542/542/ops");
  });
});

it("puts another worker on the same axis, with rows of its own", async () => {
  const clock = {
    worker: "rank1",
    rank: 1,
    correction_ns: -700,
    uncertainty_ns: 1200,
    problem: "",
  };
  const sentence = "Clocks fitted to the ends of 20 collectives.";
  const clocks = { clocks: [clock], fitted: true, comparable: true, sentence, ranks: 2 };
  server.answer("view/distributed/clocks", clocks);
  const end = { slice: 9904, track: 1, lane: 0, ts: 500, dur: 100 };
  const arrow = { start_source: 1, start: end, end_source: 0, end, skew_ns: 300, last: "rank 1" };
  const arrows = [{ ...arrow, operation: "all_reduce", group: "default_pg" }];
  server.answer("view/distributed/joined", { arrows, count: 1, joined: 1 });
  const { user } = await openTrace();
  await user.click(screen.getByRole("button", { name: /in this timeline$/ }));
  await user.click(screen.getByRole("checkbox", { name: /rank1/ }));
  await waitFor(() => expect(told.sources).toHaveLength(2));
  expect(hash().get("timeline.workers")).toBe("rank1");
  await waitFor(() => expect(told.sources[1]).toMatchObject({ source: 1, offset: -700 }));
  expect(told.rows.map((row) => row.key)).toContain("rank1\nstream/2/0");
  expect(screen.getAllByText(`Aligned by wall clock. ${sentence}`).length).toBeGreaterThan(0);
  expect(plain(details().getByText("Clock").nextElementSibling)).toContain("−700 ns ± 1.20 µs");
  await waitFor(() => expect(told.arrows).toHaveLength(1));
  expect(told.arrows[0]).toMatchObject({
    kind: 3,
    from: { key: { source: 1, slice: 9904 }, start: -200, end: -200 },
    to: { key: { source: 0, slice: 9904 }, start: 600, end: 600 },
  });
  const asks = server.asked.filter((url) => url.pathname.endsWith("distributed/joined"));
  expect(asks.at(-1)?.searchParams.get("offsets")).toBe("-700");
});

it("says why the clocks of several workers are shown as recorded", async () => {
  server.answer("view/distributed/clocks", refusal(409, "none", "Nobody communicates.", ""));
  server.answer("view/distributed/joined", refusal(409, "none", "Nobody communicates.", ""));
  await openTrace("&timeline.workers=rank1");
  const said = "Aligned by wall clock. Shown as recorded. Nobody communicates.";
  expect((await screen.findAllByText(said)).length).toBeGreaterThan(0);
  expect(told.sources[1]).toMatchObject({ offset: 0 });
});

it("says whose slices are counted, and which worker a warning is about", async () => {
  server.answer("view/timeline", (url) => ({
    ...MANIFEST,
    warnings: [
      url.searchParams.get("worker") === "rank1" ? "3 slices with zero duration." : "A sum.",
    ],
    missing: { memory: "No allocator event was recorded." },
  }));
  await openTrace("&timeline.workers=rank1");
  await waitFor(() => expect(told.sources).toHaveLength(2));
  expect(details().getByText("Kinds of slices of rank0")).toBeTruthy();
  const said = details().getByText("Limits of this recording").nextElementSibling?.children ?? [];
  expect([...said].map((one) => one.textContent)).toEqual([
    "rank0: A sum.",
    "rank1: 3 slices with zero duration.",
    "No allocator event was recorded.",
  ]);
});

it("says what is the matter with a worker that cannot be added", async () => {
  await openTrace("&timeline.workers=nobody");
  expect((await screen.findByText(/has no such span/)).textContent).toContain("nobody");
});

it("shows names from a trace as text, whatever they hold", async () => {
  const evil = `<img src=x onerror="alert(1)">\u202e\u0000`;
  server.answer("view/timeline/slice", {
    ...DETAILS,
    slice: sliceOf(9904, { name: evil.repeat(4000) }),
    track_label: evil,
    args: [{ key: evil, text: evil.repeat(2000), cut: true }],
    stack: [{ name: evil, file: "", line: 0, slice: null }],
  });
  server.answer("view/timeline", {
    ...MANIFEST,
    groups: MANIFEST.groups.map((group) => ({ ...group, label: evil })),
    tracks: MANIFEST.tracks.map((track) => ({ ...track, label: evil, detail: evil })),
  });
  const { container } = await openTrace("&timeline.select=9904");
  await details().findByText(/cut: the file holds more/);
  expect(container.querySelector("img")).toBeNull();
  expect(container.textContent).not.toContain("\u202e");
  expect(container.textContent?.length ?? 0).toBeLessThan(30_000);
});
