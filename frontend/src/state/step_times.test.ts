import { describe, expect, it } from "vitest";
import { NOW, runOf } from "../../test-fixtures/catalog";
import type { RunInfo, StepFigures } from "../api/types.gen";
import {
  runsBefore,
  stepTimeOfRun,
  stepTimeOfWorker,
  stepTimeTitle,
  stepTimeWords,
} from "./step_times";

const MS = 1e6;

/** A run whose workers take so many milliseconds a step; null: not read yet. */
function run(
  name: string,
  ms: Readonly<Record<string, number | null>>,
  figures: Partial<StepFigures> = {},
): RunInfo {
  const made = runOf(name, {
    workers: Object.fromEntries(Object.keys(ms).map((worker) => [worker, ["ready"] as const])),
  });
  return {
    ...made,
    workers: made.workers.map((worker) => {
      const median = ms[worker.name] ?? null;
      const steps =
        median === null
          ? null
          : { median_ns: median * MS, count: 6, script: "", recorded: NOW, ...figures };
      return { ...worker, spans: worker.spans.map((span) => ({ ...span, steps })) };
    }),
  };
}

const words = (runs: readonly RunInfo[], at: number) => {
  const one = runs[at] as RunInfo;
  const step = stepTimeOfRun(one, runsBefore(runs).get(one.name));
  return stepTimeWords(step).join(" · ").replaceAll("\u00a0", " ");
};

describe("step times in the pickers", () => {
  it("are compared with the run before of the same script, whatever the runs are called", () => {
    const at = (recorded: number) => ({ script: "/job/train.py", recorded });
    const runs = [
      run("fast", { worker0: 141 }, at(NOW)),
      run("slow", { worker0: 177.5 }, at(NOW - 100)),
      run("oldest", { worker0: 99 }, at(NOW - 200)),
      run("of another script", { worker0: 7 }, { script: "/job/eval.py", recorded: NOW - 50 }),
    ];
    expect(words(runs, 0)).toBe("141 ms a step · ▼ −36.5 ms −20.6 %");
    expect(words(runs, 1)).toBe("178 ms a step · ▲ +78.5 ms +79.3 %");
    expect(words(runs, 2)).toBe("99.0 ms a step");
    expect(words(runs, 3)).toBe("7.00 ms a step");
    const step = stepTimeOfRun(runs[0] as RunInfo, runsBefore(runs).get("fast"));
    expect(stepTimeTitle(step)).toBe(
      "Median of 6 steps, against slow, the run before of the same script",
    );
  });

  it("are compared by name where no script is known and names differ in numbers alone", () => {
    const runs = [
      run("resnet50_num_workers_4", { worker0: 141 }, { recorded: NOW }),
      run("resnet50_num_workers_0", { worker0: 177.5 }, { recorded: NOW - 9 }),
      run("bert", { worker0: 5 }, { recorded: NOW - 99 }),
      run("2024-05-01", { worker0: 5 }, { recorded: NOW - 98 }),
      run("2024-05-02", { worker0: 6 }, { recorded: NOW - 97 }),
    ];
    expect([0, 1, 2, 4].map((at) => words(runs, at))).toEqual([
      "141 ms a step · ▼ −36.5 ms −20.6 %",
      "178 ms a step",
      "5.00 ms a step",
      // A date names no script.
      "6.00 ms a step",
    ]);
  });

  it("say nothing of what is not read, and compare a worker with its like", () => {
    const runs = [
      run("ddp_2", { rank0: null, rank1: 20 }, { recorded: NOW }),
      run("ddp_1", { rank0: 8, rank1: 10 }, { recorded: NOW - 9 }),
    ];
    const [later, before] = runs as [RunInfo, RunInfo];
    const of = (place: number) =>
      stepTimeWords(stepTimeOfWorker(later.workers[place] as RunInfo["workers"][0], before));
    expect(of(0)).toEqual([]);
    expect(of(1).join(" ").replaceAll("\u00a0", " ")).toBe("20.0 ms a step ▲ +10.0 ms +100.0 %");
    expect(words([run("x_1", { worker0: null })], 0)).toBe("");
  });
});
