import { screen, within } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { catalogOf, runOf } from "../../../test-fixtures/catalog";
import { HEADS } from "../../../test-fixtures/heads.gen";
import { openPage } from "../../../test-fixtures/page";
import { findingOf, gaugeOf, OVERVIEW, TRACE } from "../../../test-fixtures/resnet";
import { type FakeServer, fakeServer } from "../../../test-fixtures/server";
import type { Overview } from "../../api/types.gen";

const catalog = catalogOf([runOf("resnet50", { workers: { worker0: ["ready"] } })]);
let server: FakeServer;

beforeEach(() => {
  server = fakeServer(catalog);
});

async function open(change: Partial<Overview> = {}, fragment = "") {
  server.answer("view/overview", { ...OVERVIEW, ...change });
  const page = openPage(fragment);
  await screen.findByRole("heading", { level: 1, name: /waits for the DataLoader/ });
  return page;
}

const panel = (name: string | RegExp) => within(screen.getByRole("region", { name }));
const plain = (element: Element | null) => element?.textContent?.replaceAll("\u00a0", " ") ?? "";

describe("other recordings", () => {
  const recorded = (name: string, at: number, workers = ["worker0"]) => {
    const run = runOf(name, {
      workers: Object.fromEntries(workers.map((worker) => [worker, ["ready"] as const])),
    });
    const steps = { count: 6, median_ns: at * 1e6, recorded: at, script: "/me/train.py" };
    const timed = run.workers.map((worker) => ({
      ...worker,
      spans: worker.spans.map((span) => ({ ...span, digest: `digest-${name}`, steps })),
    }));
    return { ...run, workers: timed };
  };

  it("show a newer run as soon as it is read", async () => {
    server.answer("catalog", catalogOf([recorded("resnet50", 178)]));
    vi.useFakeTimers({ shouldAdvanceTime: true });
    await open();
    expect(screen.queryByRole("region", { name: "Other recordings" })).toBeNull();
    server.answer("catalog", catalogOf([recorded("resnet50", 178), recorded("later", 190)]));
    await vi.advanceTimersByTimeAsync(11_000);
    vi.useRealTimers();
    const card = within(await screen.findByRole("region", { name: "Other recordings" }));
    expect(card.getByRole("link", { name: "later" }).getAttribute("href")).toContain("run=later");
    expect(await card.findByText(/waits for the DataLoader/)).toBeDefined();
  });

  it("are asked for an overview only where they have one", async () => {
    const run = recorded("resnet50", 178, ["worker0", "worker1", "timeline"]);
    server.answer("catalog", catalogOf([run]));
    const views = [{ stem: "memory", unavailable: null, badge: null }];
    server.answer("trace", (url: URL) =>
      url.searchParams.get("worker") === "timeline" ? { ...TRACE, views } : TRACE,
    );
    await open();
    const card = within(await screen.findByRole("region", { name: "Other recordings" }));
    expect((await card.findAllByRole("link")).map(plain)).toEqual(["worker1"]);
    const asked = server.asked.filter(({ pathname }) => pathname.endsWith("view/overview"));
    expect(asked.map(({ searchParams }) => searchParams.get("worker"))).not.toContain("timeline");
  });
});

describe("the ruler", () => {
  it("says in words what it draws", async () => {
    await open();
    const ruler = panel(/^Mean step/);
    expect(ruler.getByRole("figure").getAttribute("aria-label")?.replaceAll("\u00a0", " ")).toMatch(
      /^178 ms: Compute 98.6 ms, 55.5 %; Exposed copy 1.9 ms/,
    );
    expect(plain(ruler.getByTitle(/Parts sum to 1,065,553 µs exactly/))).toBe("177.6 ms · 6 steps");
    expect(plain(ruler.getByText(/GPU busy/))).toBe("GPU busy 100.6 ms · 56.6 %");
  });

  it("shows the longest step instead of the mean, and remembers it in the address", async () => {
    const { user } = await open();
    await user.click(screen.getByRole("radio", { name: "Longest" }));
    expect(panel("Longest step, 5 on GPU 0").getByTitle(/187,948 µs exactly/)).toBeDefined();
    expect(window.location.hash).toContain("overview.ruler=worst");
  });

  it("leads from a part to the event that is most of it", async () => {
    await open();
    const door = panel(/^Mean step/).getByRole("link", { name: /The longest: cudaFree/ });
    expect(door.getAttribute("href")).toContain("timeline.at=100-900");
  });

  it("lets choose the device when several were used", async () => {
    const devices = OVERVIEW.devices.map((device) => ({ ...device, used: device.row < 2 }));
    const { user } = await open({ devices });
    await user.click(screen.getByRole("radio", { name: "GPU 1" }));
    const asked = server.asked.filter((url) => url.pathname.endsWith("view/overview")).at(-1);
    expect(asked?.searchParams.get("device")).toBe("gpu:1");
  });

  it("marks figures that notes of Health touch", async () => {
    await open({ taints: ["Clocks of host and device differ"] });
    const mark = panel(/^Mean step/).getByRole("link", { name: /Clocks of host and device/ });
    expect(mark.getAttribute("href")).toContain("view=health");
  });
});

describe("the legend", () => {
  const parts = (lengths: readonly number[]) =>
    lengths.map((mean_ns, place) => ({
      ...(OVERVIEW.ruler.shares[0] as Overview["ruler"]["shares"][number]),
      key: `part${place}_ns`,
      label: `Part ${place}`,
      mean_ns,
      ratio: 0,
      link: null,
    }));
  const openWith = (lengths: readonly number[]) =>
    open({ ruler: { ...OVERVIEW.ruler, shares: parts(lengths) } });
  const names = () => [...document.querySelectorAll(".legend .entry")].map(plain);

  it("leaves out what takes no time, and has the longest first", async () => {
    await openWith([1e6, 0, 3e6, 2e6]);
    expect(names()).toEqual(["Part 23.000", "Part 32.000", "Part 01.000"]);
  });

  it("shows seven parts and the rest on demand, but hides no single one", async () => {
    const { user } = await openWith([1e6, 2e6, 3e6, 4e6, 5e6, 6e6, 7e6, 8e6, 9e6]);
    expect(names()).toHaveLength(8);
    await user.click(screen.getByRole("button", { name: "2 more" }));
    expect(names()).toHaveLength(10);
  });

  it("keeps what is too short for the unit behind the button", async () => {
    const { user } = await openWith([1e6, 400, 3e6, 2e6]);
    expect(names()).toEqual(["Part 23.000", "Part 32.000", "Part 01.000", "1 more"]);
    await user.click(screen.getByRole("button", { name: "1 more" }));
    expect(names().slice(3)).toEqual(["Part 1< 0.001", "fewer"]);
  });

  it("has eight parts where seven would leave one", async () => {
    await openWith([1e6, 2e6, 3e6, 4e6, 5e6, 6e6, 7e6, 8e6]);
    expect(names()).toHaveLength(8);
    expect(screen.queryByRole("button", { name: "1 more" })).toBeNull();
  });
});

describe("findings", () => {
  it("are one sentence and a fix, and open the rest", async () => {
    const text = "It takes 5 ms. A reason follows. Do that. Then look.";
    await open({ findings: [findingOf({ text, action: "Do that. Then look.", snippet: "" })] });
    const shown = [...document.querySelectorAll(".finding-text > p")].map(plain);
    expect(shown).toEqual(["It takes 5 ms.", "Do that."]);
    const more = document.querySelector(".finding details");
    expect(plain(more)).toContain("A reason follows. Do that. Then look.");
  });

  it("are ranked, with a ceiling and where to look", async () => {
    await open();
    const [first] = panel("Findings").getAllByRole("listitem");
    expect(plain(first?.querySelector(".gain") ?? null)).toBe("up to 33.4 % · 59.3 ms");
    expect(plain(first?.querySelector(".chip") ?? null)).toBe("high");
    expect(first?.querySelector("pre")?.textContent).toContain("num_workers=4");
  });

  it("open only doors that are there", async () => {
    const links = [
      { text: "Longest step", view: "overview", params: { steps: "5" }, url: "" },
      { text: "Not built yet", view: "operators", params: {}, url: "" },
      { text: "A page", view: "", params: {}, url: "https://pytorch.org/" },
      { text: "A trap", view: "", params: {}, url: "javascript:alert(1)" },
    ];
    const { user } = await open({ findings: [findingOf({ title: "One", links })] });
    const names = panel("Findings")
      .getAllByRole("link")
      .map((link) => link.textContent);
    expect(names).toEqual(["Longest step", "A page"]);
    await user.click(screen.getByRole("link", { name: "Longest step" }));
    expect(window.location.hash).toContain("steps=5");
  });

  it("show their evidence in its unit", async () => {
    const evidence = [{ name: "share of the step", value: 0.3337, unit: "ratio", threshold: 0.05 }];
    await open({ findings: [findingOf({ evidence })] });
    expect(plain(panel("Findings").getByRole("row", { name: /share of/ }))).toBe(
      "share of the step33.4 %5.0 %",
    );
  });

  it("say what could not be checked, and what it needs", async () => {
    const { user } = await open();
    await user.click(screen.getByRole("button", { name: /2\srules unchecked/ }));
    const list = within(screen.getByRole("dialog"));
    expect(list.getByRole("row", { name: /Allocator events.*ME1 Memory leak/ })).toBeDefined();
  });

  it("are explained where what the sentence says has none", async () => {
    const links = [{ text: "The longest kernels", view: "kernels", params: {}, url: "" }];
    await open({ unanswered: { text: "The device works most of the time.", links } });
    expect(panel("Findings").getByText(/The device works most of the time/)).toBeDefined();
  });

  it("have a sentence for a run without any", async () => {
    await open({ findings: [] });
    expect(panel("Findings").getByText("5 rules found nothing.")).toBeDefined();
  });
});

describe("devices", () => {
  it("keep the reasons of what is not known behind a line, and show zero for zero", async () => {
    const gauges = [
      gaugeOf("Utilization", 0.55514),
      gaugeOf("Est. SM efficiency", null, "launch geometry was not recorded"),
      gaugeOf("Tensor-core time", 0),
    ];
    const { user } = await open({
      devices: OVERVIEW.devices.map((device) => ({ ...device, gauges })),
    });
    const card = panel("GPU 0");
    expect(card.getAllByRole("definition").map(plain).filter(Boolean)).toEqual(["55.5 %", "0 %"]);
    expect(card.queryByText("–")).toBeNull();
    await user.click(card.getByText("1 not available"));
    expect(plain(card.getByText("Est. SM efficiency").parentElement as Element)).toBe(
      "Est. SM efficiency: launch geometry was not recorded",
    );
  });

  it("are a table when there are many", async () => {
    const [first] = OVERVIEW.devices;
    const devices = Array.from({ length: 8 }, (_, row) => ({ ...first, row, index: row }));
    await open({ devices: devices.flatMap((device) => device as Overview["devices"][number]) });
    expect(panel(/8\sdevices/).getAllByRole("row")).toHaveLength(9);
  });

  it("have a column in the table for what one of them knows, and a dash in the others", async () => {
    const [first] = OVERVIEW.devices;
    const devices = Array.from({ length: 8 }, (_, row) => ({
      ...first,
      row,
      index: row,
      gauges: [
        gaugeOf("Utilization", row === 3 ? 0.25 : null, "no kernels"),
        gaugeOf("Tensor-core time", null, "not recorded"),
      ],
    }));
    const { user } = await open({
      devices: devices.flatMap((device) => device as Overview["devices"][number]),
    });
    const table = panel(/8\sdevices/);
    expect(table.getAllByRole("columnheader").map(plain)).toEqual(["Device", "Utilization"]);
    expect(table.getAllByText("–")).toHaveLength(7);
    expect(table.getByText("25.0\u00a0%", { normalizer: (text) => text })).toBeDefined();
    await user.hover(table.getAllByText("–")[0] as HTMLElement);
    expect(table.getByRole("tooltip").textContent).toBe("no kernels");
    expect(table.getByText("1 not available")).toBeDefined();
  });

  it("say in the configuration why there are none", async () => {
    await open({
      devices: [],
      device_row: null,
      missing: { devices: "No device activity was recorded; add `ProfilerActivity.CUDA`." },
    });
    expect(panel("Configuration").getByText("ProfilerActivity.CUDA").tagName).toBe("CODE");
    expect(screen.queryByText(/GPU busy/)).toBeNull();
  });
});

describe("every step", () => {
  it("is a table on request, by steps and exact enough to add up", async () => {
    const { user } = await open();
    await user.click(screen.getByRole("button", { name: "Table" }));
    await user.click(screen.getByRole("radio", { name: "Both" }));
    const table = within(screen.getByRole("table", { name: "Step-time breakdown" }));
    expect(plain(table.getByRole("row", { name: /^10/ }))).toBe("10166.098.61.80.103.448.212.81.1");
    await user.click(table.getByRole("button", { name: "7" }));
    expect(window.location.hash).toContain("steps=7");
  });

  it("of a recording without steps is a sentence, not one column", async () => {
    const said = "No steps were marked: call `prof.step()`.";
    await open({ steps: OVERVIEW.steps.slice(0, 1), step_source: said });
    expect(screen.getByText(/No steps were marked/)).toBeDefined();
    expect(screen.queryByRole("region", { name: "Every step" })).toBeNull();
  });

  it("says what stands for steps", async () => {
    await open({ step_source: "Steps are the ranges named `train`." });
    expect(panel("Every step").getByText("train").tagName).toBe("CODE");
  });
});

it("says beside the execution summary which categories this recording cannot tell", async () => {
  const why = "DataLoader is not available, because another program wrote this file.";
  await open({ missing: { parts: why } });
  expect(panel("Execution summary").getByText(why)).toBeDefined();
  expect(screen.getAllByText(why)).toHaveLength(1);
});

it("sums the execution summary to the step", async () => {
  await open();
  const rows = panel("Execution summary").getAllByRole("row").slice(1).map(plain);
  expect(rows).toEqual([
    "Step177.6100 %",
    "Kernel98.655.51 %",
    "Memcpy1.91.08 %",
    "Memset0.10.05 %",
    "Runtime2.91.64 %",
    "DataLoader59.333.37 %",
    "CPU exec13.77.70 %",
    "Other1.10.65 %",
  ]);
});

it("draws no parts where nothing lasts", async () => {
  const { ruler, summary } = OVERVIEW;
  const nothing = { total_ns: 0, mean_ns: 0, step_count: 0, shares: [] };
  const unknown = { overlap_ns: null, busy_ns: null, idle_ns: null };
  await open({
    steps: [],
    gaps: [],
    ruler: { ...ruler, ...nothing, ...unknown },
    summary: summary.slice(0, 1).map((row) => ({ ...row, mean_ns: 0, ratio: 0 })),
  });
  expect(screen.queryByText("Compute")).toBeNull();
});

it("speaks of the recording where no step is marked", async () => {
  const { findings } = OVERVIEW;
  const link = { text: "Its place", view: "timeline", params: {}, url: "" };
  const event = { event: 1, slice: 1, name: "x", ts: 0, dur_ns: 5, step: "whole trace", link };
  await open({
    noun: "recording",
    gaps_columns: HEADS.IdleGap.filter(({ key }) => key !== "step"),
    findings: findings.map((one) => ({ ...one, events: [event] })),
  });
  const idle = panel("What the device waited for");
  expect(idle.queryByRole("columnheader", { name: /^Step/ })).toBeNull();
  const found = panel("Findings");
  expect(found.queryByRole("columnheader", { name: "Step" })).toBeNull();
});

it("draws no idle time where the kernels of the device are not known", async () => {
  const { ruler } = OVERVIEW;
  const part = { ghost: false, help: "", link: null };
  const shares = [
    { ...part, key: "exposed_copy_ns", label: "Copy", category: "memcpy", mean_ns: 4, ratio: 0.4 },
    {
      ...part,
      key: "unknown_ns",
      label: "Not known",
      category: "other",
      ghost: true,
      mean_ns: 6,
      ratio: 0.6,
    },
  ];
  await open({
    gaps: [],
    ruler: { ...ruler, shares, busy_ns: null, idle_ns: null, overlap_ns: null },
  });
  expect(panel(/^Mean step/).queryByText(/GPU (busy|idle)/)).toBeNull();
  expect(screen.queryByRole("region", { name: "What the device waited for" })).toBeNull();
  const idle = panel("Critical path");
  expect(idle.getByRole("radio", { name: "Critical path" })).toBeDefined();
  expect(idle.queryByRole("radio", { name: "Longest gaps" })).toBeNull();
});

it.each([
  ["Rank 1 is 5 ms late.", "2 ranks Compare them"],
  ["Another.", "2 ranks: Rank 1 is 5 ms late. Compare them"],
])("says of the ranks what no finding says: %s", async (text, said) => {
  const workers = { worker0: ["ready"], worker1: ["ready"] } as const;
  server = fakeServer(catalogOf([runOf("resnet50", { workers })]));
  const views = [{ stem: "distributed", unavailable: null, badge: null }];
  server.answer("trace", { ...TRACE, views: [...TRACE.views, ...views] });
  const sentence = "Rank 1 is 5 ms late.";
  server.answer("view/distributed/sentence", { sentence, ranks: 2, waiting: 0, roles: "" });
  await open({ findings: [findingOf({ text })] });
  await screen.findByRole("link", { name: "Compare them" });
  expect(plain(document.querySelector(".among-ranks"))).toBe(said);
});

it("keeps other missing parts visible, each as its sentence", async () => {
  await open({ missing: { memory: "Memory was not recorded; add `profile_memory=True`." } });
  expect(panel("Configuration").getByText(/Memory was not recorded/)).toBeDefined();
  const workers = panel("Configuration").getByText("Workers");
  expect(workers.nextElementSibling?.textContent).toBe("1");
});

const PHASE = {
  phase: "decode",
  steps: "2-7",
  name: "Decode",
  count: 6,
  share_ratio: 1,
  requests: 8,
  span_ns: 200_000,
  period_ns: 280_000,
  busy_ratio: 1,
  gap_ns: 80_000,
  holder: "schedule: allocate_slots",
  prefill_per_s: null,
  generated_per_s: 28_571,
  token_ns: 280_000,
  basis: "period",
  mfu_ratio: null,
  mbu_ratio: 0.4,
  padding_ratio: null,
  graph_ratio: 1,
  families: [
    { name: "gemm", ns: 900_000, ratio: 0.75, category: "compute" },
    { name: "attention", ns: 300_000, ratio: 0.25, category: "cpu" },
  ],
};
const ITERATION = {
  index: 3,
  number: 3,
  label: "decode 8",
  phase: "decode",
  batch: 8,
  prefill_tokens: 0,
  generated_tokens: 8,
  keys: null,
  span_ns: 200_000,
  period_ns: 280_000,
  busy_ratio: 1,
  gap_ns: 80_000,
  cause: "launch API",
  holder: "schedule: allocate_slots",
  launches: 1,
  replays: 1,
  left_out: "",
  link: { text: "The work", view: "timeline", params: { at: "5-9" }, url: "" },
};
const SERVING = {
  title: "Phases of vLLM",
  phases_columns: HEADS.ServedPhase,
  phases: [PHASE],
  iterations_columns: HEADS.ServedIteration,
  iterations: [ITERATION],
  iteration_count: 6,
  notes: ["Not available: time to first token."],
};

describe("a served model", () => {
  it("shows the bar and the figures of each phase", async () => {
    await open({ serving: SERVING });
    const served = panel("Phases of vLLM");
    expect(plain(served.getByRole("img"))).toBe("");
    expect(served.getByRole("img").getAttribute("aria-label")?.replaceAll("\u00a0", " ")).toBe(
      "Decode: gemm 75.0 %, attention 25.0 %",
    );
    expect(served.getByText("28,571")).toBeDefined();
    const chooses = served.getByRole("link", { name: "Decode" });
    expect(chooses.getAttribute("href")).toContain("steps=2-7");
    expect(served.getByText(/time to first token/)).toBeDefined();
  });

  it("leaves out what holds gaps where no gap is known", async () => {
    await open({ serving: { ...SERVING, phases: [{ ...PHASE, gap_ns: null, holder: "" }] } });
    expect(panel("Phases of vLLM").queryByText("Held by")).toBeNull();
  });

  it("draws the sign of each phase in the colour of its points", async () => {
    const other = { ...ITERATION, index: 1, phase: "prefill" };
    const { user } = await open({ serving: { ...SERVING, iterations: [ITERATION, other] } });
    await user.click(screen.getByRole("radio", { name: "Time by batch" }));
    const sign = (text: string) => panel("Phases of vLLM").getByText(text).getAttribute("style");
    expect(sign("●")).toContain("var(--k-compute)");
    expect(sign("■")).toContain("var(--k-cpu)");
  });

  it("lists the iterations, and says how many there are", async () => {
    const { user } = await open({ serving: SERVING });
    await user.click(screen.getByRole("radio", { name: "Iterations" }));
    expect(panel("Phases of vLLM").getByText(/The first 1 of 6 iterations/)).toBeDefined();
  });

  it("is no part of a training", async () => {
    await open();
    expect(screen.queryByRole("region", { name: /Phases/ })).toBeNull();
  });
});

const LIGHT = {
  headline: "",
  step_count: 2,
  reasons: [],
  reasons_columns: [],
  parts: [] as object[],
  ranking: [] as object[],
  mfu_ratio: 0.25,
  hfu_ratio: 0.25,
  mbu_ratio: null,
  at_least: false,
  source: "",
};

function answerLight(light: object) {
  const views = [{ stem: "speed_of_light", unavailable: null, badge: null }];
  server.answer("trace", { ...TRACE, views: [...TRACE.views, ...views] });
  server.answer("view/speed_of_light/summary", { ...LIGHT, ...light });
}

it("divides the mean step into light and waste, and names the largest waste", async () => {
  const part = (key: string, ns: number) => ({ key, name: key, ns, ratio: 0.5, help: "" });
  answerLight({
    parts: [part("light", 4000), part("waste", 8000)],
    ranking: [{ key: "op", name: "aten::mm", ns: 6000, running_ns: 6000, ratio: 0.3 }],
  });
  await open();
  const region = await screen.findByRole("region", { name: "Speed of light" });
  const words = plain(region);
  expect(words).toContain("MFU 25.0 %");
  expect(words).not.toContain("HFU");
  expect(words).toContain("waste 50.0 % 4.00 µs");
  expect(words).toContain("aten::mm 3.00 µs");
});

it("says how far a measured CPU is from its roofline", async () => {
  answerLight({ headline: "Ops run at 3.5 % of the roofline.", source: "measured" });
  await open();
  const region = await screen.findByRole("region", { name: "Speed of light" });
  expect(plain(region)).toContain("MFU 25.0 %");
  expect(plain(region)).toContain("Ops run at 3.5 % of the roofline.");
});
