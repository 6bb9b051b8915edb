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
