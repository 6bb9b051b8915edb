import { expect, it } from "vitest";
import { runOf } from "../../test-fixtures/catalog";
import type { RunInfo, StepFigures } from "../api/types.gen";
import { hintFor } from "./step_times";

function run(name: string, recorded: number, median_ns: number): RunInfo {
  const figures: StepFigures = { count: 6, median_ns, recorded, script: "/home/me/train.py" };
  const empty = runOf(name, { workers: { worker0: ["ready"] } });
  return {
    ...empty,
    workers: empty.workers.map((worker) => ({
      ...worker,
      spans: worker.spans.map((span) => ({ ...span, steps: figures })),
    })),
  };
}

const runs = [run("zero", 1, 177.6e6), run("four", 2, 141.1e6)];

it("names the newer run of the same script", () => {
  const hint = hintFor(runs, "zero");
  expect(hint?.words).toBe("Newer run four:");
  expect(hint?.amount.replaceAll("\u00a0", " ")).toBe("▼ −36.5 ms −20.6 %");
  expect(hint?.patch).toMatchObject({ view: "diff", run: "four", "diff.base": "zero" });
});

it("names the run before, where the shown one is the newest", () => {
  const hint = hintFor(runs, "four");
  expect(hint?.words).toBe("Against zero:");
  expect(hint?.patch).toMatchObject({ view: "diff", run: "four", "diff.base": "zero" });
});

it("says nothing about runs of another script", () => {
  expect(hintFor([run("zero", 1, 1e6)], "zero")).toBeNull();
});
