import { expect, it } from "vitest";
import { catalogOf, runOf } from "../../../test-fixtures/catalog";
import type { Catalog, RunInfo } from "../../api/types.gen";
import { othersOf } from "./others";

const shown = (run: string, worker: string) => ({
  key: { run, worker, span: "1" },
  digest: "d",
  file: "",
  trace: null,
});

/** The run with a mean step for each worker, in ms. */
function timed(run: RunInfo, ms: readonly number[]): RunInfo {
  return {
    ...run,
    workers: run.workers.map((worker, at) => ({
      ...worker,
      rank: at,
      spans: worker.spans.map((span) => ({
        ...span,
        steps: {
          count: 3,
          median_ns: (ms[at] ?? 0) * 1e6,
          script: "train.py",
          recorded: 0,
        } as never,
      })),
    })),
  };
}

const RANKS = { a: ["ready"], b: ["ready"], c: ["ready"], d: ["reading"], e: ["ready"] } as const;

it("leave out memory snapshots, which have no overview", () => {
  const run = timed(runOf("job", { workers: RANKS }), [10, 11, 30, 99, 5]);
  const [a, b, ...rest] = run.workers;
  const snapshot = (file: string) => b?.spans.map((span) => ({ ...span, file })) ?? [];
  for (const file of ["b.pickle", "b.pkl.gz"]) {
    const workers = [a, { ...b, spans: snapshot(file) }, ...rest] as typeof run.workers;
    const found = othersOf(catalogOf([{ ...run, workers }]), shown("job", "a"));
    expect(found.map(({ words }) => words)).toEqual(["rank 2", "rank 4"]);
  }
});

it("begin with the newer run, and with the run before where the shown one is the newest", () => {
  const RANK = { workers: { a: ["ready"], b: ["ready"] } } as const;
  const at = (run: RunInfo, recorded: number): RunInfo => ({
    ...run,
    workers: run.workers.map((worker) => ({
      ...worker,
      spans: worker.spans.map((span) => ({ ...span, steps: { ...span.steps, recorded } as never })),
    })),
  });
  const catalog = catalogOf([
    at(timed(runOf("old", RANK), [10, 11]), 1),
    at(timed(runOf("new", RANK), [8, 9]), 2),
  ]);
  const words = (run: string) => othersOf(catalog, shown(run, "b"));
  expect(words("old")).toMatchObject([
    { run: "new", worker: "b", words: "new" },
    { run: "old", worker: "a", words: "rank 0" },
  ]);
  expect(words("new")).toMatchObject([
    { run: "old", worker: "b", words: "old" },
    { run: "new", worker: "a", words: "rank 0" },
  ]);
});

it("are the ranks whose steps differ most, as far as they are read", () => {
  const catalog: Catalog = catalogOf([
    timed(runOf("job", { workers: RANKS }), [10, 11, 30, 99, 5]),
  ]);
  const found = othersOf(catalog, shown("job", "a"));
  expect(found.map(({ words }) => words)).toEqual(["rank 2", "rank 4", "rank 1"]);
  expect(
    othersOf(
      catalogOf([timed(runOf("lone", { workers: { a: ["ready"] } }), [1])]),
      shown("lone", "a"),
    ),
  ).toEqual([]);
});
