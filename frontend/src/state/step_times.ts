/** How long the steps of a run take, and how that changed against the run of the same script before. */
import type { RunInfo, StepFigures, WorkerInfo } from "../api/types.gen";
import { change, NBSP, share, time } from "../base/text/format";
import type { Patch } from "./location/fragment";

/** The steps of a run or a worker, and of what came before it. */
export interface StepTime {
  readonly figures: StepFigures;
  readonly before: { readonly run: string; readonly median_ns: number } | null;
}

/** The latest span of a worker whose steps are known; null while none was read. */
export function figuresOf(worker: WorkerInfo | undefined): StepFigures | null {
  return (
    worker?.spans.findLast(({ steps }) => steps !== null && steps !== undefined)?.steps ?? null
  );
}

const firstRead = (run: RunInfo) => run.workers.find((worker) => figuresOf(worker) !== null);

/**
 * What runs of one script have in common; "" where nothing says it. Recordings of our handler tell
 * what was started. Others are told by their names, when these differ in numbers alone.
 */
export function scriptOf(run: RunInfo): string {
  const script = figuresOf(firstRead(run))?.script ?? "";
  if (script !== "") {
    return `script ${script}`;
  }
  const family = run.name.replaceAll(/\d+/g, "#");
  return family.includes("#") && /\p{L}/u.test(family) ? `name ${run.logdir} ${family}` : "";
}

const began = (run: RunInfo) => figuresOf(firstRead(run))?.recorded || run.modified;

/** The run before each run of the same script, by name; only runs whose steps are known. */
export function runsBefore(runs: readonly RunInfo[]): ReadonlyMap<string, RunInfo> {
  const known = runs.filter((run) => firstRead(run) !== undefined);
  const inTime = known
    .map((run) => ({ run, at: began(run), script: scriptOf(run) }))
    .sort((a, b) => a.at - b.at);
  const last = new Map<string, RunInfo>();
  const before = new Map<string, RunInfo>();
  for (const { run, script } of inTime) {
    const earlier = last.get(script);
    if (script !== "" && earlier !== undefined) {
      before.set(run.name, earlier);
    }
    last.set(script, run);
  }
  return before;
}

/** The worker of the run before that does the same: of the same name, else of the same rank. */
function counterpart(worker: WorkerInfo, run: RunInfo | undefined): WorkerInfo | undefined {
  const workers = run?.workers ?? [];
  return (
    workers.find(({ name }) => name === worker.name) ??
    workers.find(({ rank }) => rank !== null && rank === worker.rank) ??
    (workers.length === 1 ? workers[0] : undefined)
  );
}

export function stepTimeOfWorker(worker: WorkerInfo, before: RunInfo | undefined): StepTime | null {
  const figures = figuresOf(worker);
  const earlier = figuresOf(counterpart(worker, before));
  return figures === null
    ? null
    : {
        figures,
        before:
          before === undefined || earlier === null
            ? null
            : { run: before.name, median_ns: earlier.median_ns },
      };
}

/** Of the first worker that was read. */
export function stepTimeOfRun(run: RunInfo, before: RunInfo | undefined): StepTime | null {
  const worker = firstRead(run);
  return worker === undefined ? null : stepTimeOfWorker(worker, before);
}

/** `188 ms a step`, `▼ −36.5 ms −20.6 %`. */
export function stepTimeWords(step: StepTime | null): readonly string[] {
  if (step === null) {
    return [];
  }
  const { figures, before } = step;
  const words = [`${time(figures.median_ns)} a step`];
  if (before === null || before.median_ns <= 0) {
    return words;
  }
  const delta = figures.median_ns - before.median_ns;
  const ratio = share(Math.abs(delta) / before.median_ns);
  const sign = delta < 0 ? "−" : delta > 0 ? "+" : "";
  return [...words, `${change(delta)}${NBSP}${sign}${ratio}`];
}

/** What the words compare, for the tooltip. */
export function stepTimeTitle(step: StepTime | null): string {
  if (step === null) {
    return "";
  }
  const { figures, before } = step;
  const median = `Median of ${figures.count} ${figures.count === 1 ? "step" : "steps"}`;
  const why = figures.script === "" ? "with a similar name" : "of the same script";
  return before === null ? median : `${median}, against ${before.run}, the run before ${why}`;
}

/** How two runs of one script differ, and the address that says why. */
export interface CompareHint {
  readonly words: string;
  readonly amount: string;
  readonly patch: Patch;
}

/** The newer run of the same script, if there is one, else the one before. */
export function hintFor(runs: readonly RunInfo[], shown: string): CompareHint | null {
  const before = runsBefore(runs);
  const own = runs.find(({ name }) => name === shown);
  const newer = runs.find(({ name }) => before.get(name)?.name === shown);
  const [base, other] = newer === undefined ? [before.get(shown), own] : [own, newer];
  if (base === undefined || other === undefined) {
    return null;
  }
  const [, amount] = stepTimeWords(stepTimeOfRun(other, base));
  if (amount === undefined) {
    return null;
  }
  return {
    words: newer === undefined ? `Against ${base.name}:` : `Newer run ${other.name}:`,
    amount,
    patch: {
      view: "diff",
      run: other.name,
      "diff.base": base.name,
      ...(newer === undefined ? {} : { worker: undefined, span: undefined, steps: undefined }),
    },
  };
}
