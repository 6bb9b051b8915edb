/** Which recording is the base: what the address says, else the start or the run before. */
import type { Catalog, DiffQuery, RunInfo, SpanInfo, WorkerInfo } from "../../api/types.gen";
import type { Values } from "../../state/location/fragment";
import type { Shown } from "../../state/page_context";
import { runsBefore } from "../../state/step_times";

/** The base as far as the catalog has it. */
export interface Base {
  readonly run: RunInfo;
  readonly worker: WorkerInfo;
  readonly span: SpanInfo;
}

const last = <T>(items: readonly T[]): T | undefined => items[items.length - 1];

/** The start before the shown one, of the same run; the second where the first is shown. */
function startBefore(run: RunInfo, catalog: Catalog, shown: Shown): number | null {
  const own = spanOf(catalog, shown)?.start ?? 1;
  const isOwn = run.name === shown.key.run && run.starts.length > 1;
  return isOwn ? (own > 1 ? own - 1 : 2) : null;
}

/** A run with the workers and spans of one start alone. */
function onlyStart(run: RunInfo, start: number | null): RunInfo {
  if (start === null) {
    return run;
  }
  const workers = run.workers
    .map((worker) => ({ ...worker, spans: worker.spans.filter((span) => span.start === start) }))
    .filter(({ spans }) => spans.length > 0);
  return { ...run, workers };
}

/** The run that the shown one is compared with unless someone chooses: the one before, else any other. */
function usualRun(catalog: Catalog, shown: Shown): RunInfo | undefined {
  const own = catalog.runs.find(({ name }) => name === shown.key.run);
  if (own !== undefined && own.starts.length > 1) {
    return own;
  }
  const before = runsBefore(catalog.runs);
  const after = [...before].find(([, run]) => run.name === shown.key.run)?.[0];
  const others = catalog.runs.filter(({ name }) => name !== shown.key.run);
  return (
    before.get(shown.key.run) ??
    catalog.runs.find(({ name }) => name === after) ??
    (others.length === 1 ? others[0] : undefined)
  );
}

/** Of the base's run: the worker of the same name or rank, else its first. */
function workerLike(run: RunInfo, shown: Shown, catalog: Catalog): WorkerInfo | undefined {
  const own = catalog.runs
    .find(({ name }) => name === shown.key.run)
    ?.workers.find(({ name }) => name === shown.key.worker);
  return (
    run.workers.find(({ name }) => name === shown.key.worker) ??
    run.workers.find(({ rank }) => rank !== null && rank === own?.rank) ??
    run.workers[0]
  );
}

/** The shown recording as the catalog has it. */
export function spanOf(catalog: Catalog, { key }: Shown): SpanInfo | undefined {
  const run = catalog.runs.find(({ name }) => name === key.run);
  const worker = run?.workers.find(({ name }) => name === key.worker);
  return worker?.spans.find((span) => span.key === key.span);
}

export function baseOf(catalog: Catalog, shown: Shown, values: Values): Base | null {
  const named = values["diff.base"];
  const run =
    named === undefined
      ? usualRun(catalog, shown)
      : catalog.runs.find(({ name }) => name === named);
  if (run === undefined) {
    return null;
  }
  const usual = workerLike(onlyStart(run, startBefore(run, catalog, shown)), shown, catalog);
  const chosen = run.workers.find(({ name }) => name === values["diff.worker"]) ?? usual;
  const worker = run.workers.find(({ name }) => name === chosen?.name);
  const span =
    worker?.spans.find(({ key }) => key === values["diff.span"]) ?? last(chosen?.spans ?? []);
  return worker === undefined || span === undefined ? null : { run, worker, span };
}

/** What every question of this view says of the two recordings. */
export function queryOf(base: Base, values: Values): DiffQuery {
  return {
    base_run: base.run.name,
    base_worker: base.worker.name,
    base_span: base.span.key,
    steps: values["steps"] ?? "",
    base_steps: values["diff.steps"] ?? "",
    equal_clocks: values["diff.clocks"] === "equal",
  };
}
