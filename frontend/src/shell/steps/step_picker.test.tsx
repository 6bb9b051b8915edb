import { fireEvent, screen } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { catalogOf, runOf } from "../../../test-fixtures/catalog";
import { openPage } from "../../../test-fixtures/page";
import { TRACE } from "../../../test-fixtures/resnet";
import { type FakeServer, fakeServer } from "../../../test-fixtures/server";
import type { StepInfo } from "../../api/types.gen";
import { byPhase } from "./step_menu";
import { BARS_MAX, bucketsOf, chosenPart, indexesBetween } from "./step_strip";

const STEP_PX = 10;
let server: FakeServer;

beforeEach(() => {
  server = fakeServer(catalogOf([runOf("resnet50", { workers: { worker0: ["ready"] } })]));
});

/** The strip of six steps, 5 to 10, each ten pixels wide. */
async function strip(fragment = "") {
  const page = openPage(fragment);
  const element = await screen.findByRole("listbox", { name: "Steps by length" });
  vi.spyOn(element, "getBoundingClientRect").mockReturnValue(new DOMRect(0, 0, 6 * STEP_PX, 28));
  element.setPointerCapture = () => undefined;
  const drag = (from: number, to: number, init = {}) => {
    const at = (place: number) => ({ clientX: place * STEP_PX + 5, pointerId: 1, ...init });
    fireEvent.pointerDown(element, { button: 0, ...at(from) });
    fireEvent.pointerMove(element, at(to));
    fireEvent.pointerUp(element, at(to));
  };
  return { ...page, element, drag };
}

const steps = () => /steps=([^&]*)/.exec(window.location.hash)?.[1] ?? null;

describe("the step strip", () => {
  it("chooses one step by a click and a range by dragging, either way", async () => {
    const { drag } = await strip();
    drag(2, 2);
    expect(steps()).toBe("7");
    drag(4, 1);
    expect(steps()).toBe("6-9");
    drag(3, 3);
    drag(5, 5, { shiftKey: true });
    expect(steps()).toBe("8-10");
    drag(0, 5);
    expect(steps()).toBeNull();
  });

  it("walks by arrow keys and extends with Shift", async () => {
    const { element, user } = await strip("#steps=7");
    element.focus();
    await user.keyboard("{ArrowRight}");
    expect(steps()).toBe("8");
    await user.keyboard("{Shift>}{ArrowRight}{ArrowRight}{/Shift}");
    expect(steps()).toBe("8-10");
    await user.keyboard("{Home}");
    expect(steps()).toBe("5");
  });

  it("tells each step, and which are chosen", async () => {
    await strip("#steps=6-7");
    const options = screen.getAllByRole("option");
    expect(options[0]?.getAttribute("aria-label")?.replaceAll("\u00a0", " ")).toBe(
      "Step 5: 188 ms",
    );
    expect(options.map((option) => option.getAttribute("aria-selected"))).toEqual([
      "false",
      "true",
      "true",
      "false",
      "false",
      "false",
    ]);
    expect(screen.getByRole("button", { name: "Steps 6–7 2 of 6" })).toBeDefined();
  });
});

describe("the step menu", () => {
  it("takes step numbers as they are shown, and explains what it cannot take", async () => {
    const { user } = await strip();
    await user.click(screen.getByRole("button", { name: /^Steps / }));
    const field = screen.getByRole("textbox", { name: "Steps" });
    await user.type(field, "99{Enter}");
    expect(screen.getByText(/Numbers between 5 and 10/)).toBeDefined();
    await user.clear(field);
    await user.type(field, "6-8{Enter}");
    expect(steps()).toBe("6-8");
  });

  it("tells what is left out by default, and chooses all", async () => {
    const marked = TRACE.steps.map((step) => ({
      ...step,
      excluded: step.number === 5 ? "warm-up" : null,
    }));
    server.answer("trace", { ...TRACE, steps: marked });
    const { user } = await strip();
    await user.click(await screen.findByRole("button", { name: "Steps 6–10 5 of 6" }));
    expect(screen.getByText("Left out by default: 5 (warm-up).")).toBeDefined();
    await user.click(screen.getByRole("button", { name: /^All steps/ }));
    expect(steps()).toBe("all");
  });
});

it("offers nothing to choose where the whole recording counts as one step", async () => {
  server.answer("trace", { ...TRACE, step_source: "whole_trace" });
  openPage();
  expect(await screen.findByText("no steps marked")).toBeDefined();
});

it("says so when the address names steps that this trace does not have", async () => {
  openPage("#steps=40-50");
  expect(await screen.findByRole("button", { name: /not in this trace 0 of 6/ })).toBeDefined();
});

describe("many steps", () => {
  const [first] = TRACE.steps;
  const many = Array.from({ length: 100 }, (_, index) => ({
    index,
    number: index + 1,
    name: first?.name ?? "",
    dur_ns: index === 42 ? 500 : 100,
    excluded: null,
    outlier: index === 42,
    phase: "" as const,
  }));
  const buckets = bucketsOf(many);

  it("share buckets, of which the longest step counts", () => {
    expect(buckets.length).toBeLessThanOrEqual(BARS_MAX);
    expect(buckets.flatMap((bucket) => bucket.steps)).toEqual(many);
    const odd = buckets.filter((bucket) => bucket.isOutlier);
    expect(odd.map((bucket) => bucket.longest_ns)).toEqual([500]);
  });

  it("are chosen bucket by bucket", () => {
    expect([...indexesBetween(buckets, 1, 0)]).toHaveLength(10);
    const parts = buckets
      .slice(0, 3)
      .map((bucket) => chosenPart(bucket, new Set([0, 1, 2, 3, 4, 5])));
    expect(parts).toEqual(["all", "some", "none"]);
  });
});

describe("iterations of an engine", () => {
  const step = (index: number, phase: StepInfo["phase"], name: string): StepInfo => ({
    index,
    number: index,
    name,
    dur_ns: 100,
    excluded: index === 5 ? "cut off" : null,
    outlier: false,
    phase,
  });
  const steps = [
    step(0, "prefill", "prefill 2 · 64 tokens"),
    step(1, "decode", "decode 2"),
    step(2, "decode", "decode 2"),
    step(3, "mixed", "mixed 1+2"),
    step(4, "decode", "decode 3"),
    step(5, "decode", "decode 3"),
  ];

  it("are chosen by phase and batch, without those that are left out", () => {
    expect(byPhase(steps).map(({ label, indexes }) => [label, [...indexes]])).toEqual([
      ["Prefill", [0]],
      ["Mixed", [3]],
      ["Decode", [1, 2, 4]],
      ["– decode 2", [1, 2]],
      ["– decode 3", [4]],
    ]);
    expect(byPhase(steps.slice(3, 4))).toEqual([]);
  });

  it("are called so, and chosen in the menu", async () => {
    server.answer("trace", { ...TRACE, noun: "iteration", steps });
    const { user } = openPage("");
    expect(await screen.findByRole("listbox", { name: "Iterations by length" })).toBeDefined();
    expect(screen.getAllByRole("option")[1]?.title).toMatch(/^Iteration 1, decode 2: 100\sns$/);
    await user.click(screen.getByRole("button", { name: /^Iterations/ }));
    expect(screen.getByText(/Left out by default: 5/)).toBeDefined();
    await user.click(screen.getByRole("button", { name: /^Decode/ }));
    expect(window.location.hash).toContain("steps=1-2%2C4");
  });
});
