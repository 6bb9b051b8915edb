/** Which run, worker and span are shown: what the address says, held against the catalog. */
import type { Catalog, RunInfo, SpanInfo, State, WorkerInfo } from "../../api/types.gen";
import type { Patch, Values } from "./fragment";

export interface Choice {
  readonly run: RunInfo;
  readonly worker: WorkerInfo;
  readonly span: SpanInfo;
}

/** The address names something that the catalog does not have. */
export interface Absent {
  readonly what: "run" | "worker" | "span";
  readonly name: string;
}

export type Resolved =
  | { readonly state: "chosen"; readonly choice: Choice }
  | { readonly state: "absent"; readonly absent: Absent }
  | { readonly state: "nothing" };

const USABLE: readonly State[] = ["ready", "reading", "queued", "waiting", "failed", "refused"];

const rank = (state: State) => USABLE.indexOf(state);

/** The best state among the spans: ready before reading before waiting before unreadable. */
export function bestState(spans: readonly SpanInfo[]): State {
  return spans.reduce<State>(
    (best, span) => (rank(span.state) < rank(best) ? span.state : best),
    "refused",
  );
}

/** The workers of a run, and behind them the recordings of captures of its graphs. */
export const everyWorker = ({ workers, captures }: RunInfo): readonly WorkerInfo[] => [
  ...workers,
  ...captures,
];

export const runState = (run: RunInfo): State => bestState(run.workers.flatMap((w) => w.spans));

function firstBest<T>(items: readonly T[], stateOf: (item: T) => State): T | undefined {
  return [...items].sort((a, b) => rank(stateOf(a)) - rank(stateOf(b)))[0];
}

/** The newest run that can be shown. */
function defaultRun(runs: readonly RunInfo[]): RunInfo | undefined {
  return firstBest(
    [...runs].sort((a, b) => b.modified - a.modified),
    runState,
  );
}

/** The spans of the newest start of which something can be read; all where nothing can. */
function newestSpans(spans: readonly SpanInfo[]): readonly SpanInfo[] {
  const usable = spans.filter(({ state }) => rank(state) < rank("waiting"));
  const newest = usable.reduce((most, { start }) => Math.max(most, start), 0);
  return newest === 0 ? spans : spans.filter(({ start }) => start === newest);
}

/** The first worker of the newest start that can be shown. */
function defaultWorker(run: RunInfo): WorkerInfo | undefined {
  const spans = new Set(newestSpans(run.workers.flatMap((worker) => worker.spans)));
  const newest = (worker: WorkerInfo) => worker.spans.filter((span) => spans.has(span));
  const workers = run.workers.filter((worker) => newest(worker).length > 0);
  return firstBest(workers, (worker) => bestState(newest(worker)));
}

/** The latest span that can be shown, as on the command line. */
const defaultSpan = (worker: WorkerInfo) =>
  firstBest([...newestSpans(worker.spans)].reverse(), (span) => span.state);

export function resolveChoice(catalog: Catalog, values: Values): Resolved {
  const { run: runName, worker: workerName, span: spanKey } = values;
  const run =
    runName === undefined
      ? defaultRun(catalog.runs)
      : catalog.runs.find((candidate) => candidate.name === runName);
  if (run === undefined) {
    return runName === undefined ? { state: "nothing" } : absent("run", runName);
  }
  const worker =
    workerName === undefined
      ? defaultWorker(run)
      : everyWorker(run).find((candidate) => candidate.name === workerName);
  if (worker === undefined) {
    return workerName === undefined ? { state: "nothing" } : absent("worker", workerName);
  }
  const span =
    spanKey === undefined
      ? defaultSpan(worker)
      : worker.spans.find((candidate) => candidate.key === spanKey);
  if (span === undefined) {
    return spanKey === undefined ? { state: "nothing" } : absent("span", spanKey);
  }
  return { state: "chosen", choice: { run, worker, span } };
}

function absent(what: Absent["what"], name: string): Resolved {
  return { state: "absent", absent: { what, name } };
}

/** What the address says when a choice is written out. */
export function choiceValues({ run, worker, span }: Choice): Patch {
  return { run: run.name, worker: worker.name, span: span.key };
}

/** Numbers of slices, and places on the time axis, are those of one recording. */
const ELSEWHERE: Patch = {
  "timeline.select": undefined,
  "timeline.area": undefined,
  "timeline.notes": undefined,
};
/** Of another run, nothing of the timeline is meant. */
const ANOTHER: Patch = {
  ...ELSEWHERE,
  "timeline.at": undefined,
  "timeline.y": undefined,
  "timeline.rows": undefined,
  "timeline.workers": undefined,
};

/** Going to another run: its worker and span of the same name stay chosen, steps do not. */
export function patchForRun(run: RunInfo, values: Values): Patch {
  const worker = run.workers.find((candidate) => candidate.name === values["worker"]);
  const span = worker?.spans.find((candidate) => candidate.key === values["span"]);
  return {
    run: run.name,
    worker: worker?.name,
    span: span?.key,
    steps: undefined,
    device: undefined,
    ...ANOTHER,
  };
}

/** Going to another worker of the run. Ranks record the same steps, so their choice stays. */
export function patchForWorker(worker: WorkerInfo, values: Values): Patch {
  const span = worker.spans.find((candidate) => candidate.key === values["span"]);
  return { worker: worker.name, span: span?.key, device: undefined, ...ELSEWHERE };
}

export function patchForSpan(span: SpanInfo): Patch {
  return { span: span.key, steps: undefined, ...ELSEWHERE, "timeline.at": undefined };
}

/**
 * Whether a span is being read or about to be. One that waits to be opened is queued, too, but has
 * no progress.
 */
export function isUnderWay({ state, progress }: SpanInfo): boolean {
  return state === "reading" || (state === "queued" && progress !== null);
}

/** Whether the catalog will change by itself soon. */
export function isBusy(catalog: Catalog): boolean {
  const spans = catalog.runs.flatMap((run) => everyWorker(run).flatMap((worker) => worker.spans));
  return catalog.scanning || spans.some(isUnderWay);
}
