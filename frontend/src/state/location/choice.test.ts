import { describe, expect, it } from "vitest";
import { catalogOf, runOf, spanOf } from "../../../test-fixtures/catalog";
import type { RunInfo, State } from "../../api/types.gen";
import {
  choiceValues,
  isBusy,
  patchForRun,
  patchForWorker,
  resolveChoice,
  runState,
} from "./choice";

/** Two runs; the newer has two ranks with two spans each, and rank0's first span is unreadable. */
const older = runOf("older", { modified: 100, workers: { worker0: ["ready"] } });
const newer = runOf("newer", {
  modified: 200,
  workers: { rank0: ["failed", "reading"], rank1: ["ready", "ready"] },
});
const catalog = catalogOf([older, newer]);

function names(values: Record<string, string>) {
  const resolved = resolveChoice(catalog, values);
  return resolved.state === "chosen"
    ? Object.values(choiceValues(resolved.choice)).join(" ")
    : resolved;
}

describe("the choice", () => {
  it("is the newest run and the latest that is ready of it, when the address says nothing", () => {
    expect(names({})).toBe("newer rank1 2");
  });

  it("is what the address says, readable or not", () => {
    expect(names({ run: "older" })).toBe("older worker0 1");
    expect(names({ run: "newer", worker: "rank0", span: "1" })).toBe("newer rank0 1");
  });

  it("never jumps to something else when the named thing is not there", () => {
    const absent = (what: string, name: string) => ({ state: "absent", absent: { what, name } });
    expect(names({ run: "gone" })).toEqual(absent("run", "gone"));
    expect(names({ run: "newer", worker: "rank9" })).toEqual(absent("worker", "rank9"));
    expect(names({ run: "newer", worker: "rank1", span: "7" })).toEqual(absent("span", "7"));
  });

  it("is a recording of a capture where the address names it, and never else", () => {
    const captures = runOf("r", { workers: { "capture_traces/rank0": ["ready"] } }).workers;
    const run = { ...runOf("r", { workers: { rank0: ["reading"] } }), captures };
    const shown = (values: Record<string, string>) => {
      const resolved = resolveChoice(catalogOf([run]), values);
      return resolved.state === "chosen" ? resolved.choice.worker.name : resolved;
    };
    expect(shown({})).toBe("rank0");
    expect(shown({ run: "r", worker: "capture_traces/rank0" })).toBe("capture_traces/rank0");
  });

  describe("in a folder of several starts", () => {
    const started = (states: Record<string, readonly State[]>, starts: Record<string, number>) => {
      const run = runOf("twice", { workers: states });
      const workers = run.workers.map((worker) => ({
        ...worker,
        spans: worker.spans.map((span) => ({ ...span, start: starts[worker.name] ?? 1 })),
      }));
      return catalogOf([{ ...run, workers }]);
    };
    const shown = (of: ReturnType<typeof catalogOf>, values: Record<string, string> = {}) => {
      const resolved = resolveChoice(of, values);
      return resolved.state === "chosen" ? resolved.choice.worker.name : resolved;
    };
    const starts = { a_900: 1, a_77: 2 };

    it("is the newest start, even while it is being read", () => {
      expect(shown(started({ a_900: ["ready"], a_77: ["ready"] }, starts))).toBe("a_77");
      expect(shown(started({ a_900: ["ready"], a_77: ["reading"] }, starts))).toBe("a_77");
    });

    it("is the start before while the newest is being written or cannot be read", () => {
      expect(shown(started({ a_900: ["ready"], a_77: ["waiting"] }, starts))).toBe("a_900");
      expect(shown(started({ a_900: ["ready"], a_77: ["failed"] }, starts))).toBe("a_900");
    });

    it("is the older start where the address names it", () => {
      const both = started({ a_900: ["ready"], a_77: ["ready"] }, starts);
      expect(shown(both, { run: "twice", worker: "a_900", span: "1" })).toBe("a_900");
    });
  });

  it("is nothing when there is nothing", () => {
    expect(resolveChoice(catalogOf([]), {})).toEqual({ state: "nothing" });
  });
});

describe("going elsewhere", () => {
  const values = { run: "newer", worker: "rank1", span: "2", steps: "3", view: "health" };

  it("keeps worker and span in another run that has them", () => {
    const twin: RunInfo = { ...newer, name: "twin" };
    expect(patchForRun(twin, values)).toMatchObject({ run: "twin", worker: "rank1", span: "2" });
    const patch = patchForRun(older, values);
    expect(patch).toEqual({
      run: "older",
      worker: undefined,
      span: undefined,
      steps: undefined,
      device: undefined,
    });
  });

  it("keeps the steps on another rank", () => {
    const rank0 = newer.workers[0];
    expect(rank0 && patchForWorker(rank0, values)).toEqual({
      worker: "rank0",
      span: "2",
      device: undefined,
    });
  });
});

it("is not busy for files that are read when they are opened", () => {
  const span = spanOf("1", "queued", { progress: null });
  const run = {
    ...older,
    workers: [{ name: "w", rank: null, spans: [span], node: "", process: null }],
  };
  expect(isBusy(catalogOf([run]))).toBe(false);
  expect(isBusy(catalogOf([runOf("r", { workers: { w: ["queued"] } })]))).toBe(true);
});

it.each<[State[], State, boolean]>([
  [["ready", "failed"], "ready", false],
  [["failed", "reading"], "reading", true],
  [["waiting"], "waiting", false],
  [["refused", "failed"], "failed", false],
])("a run of %j is %s", (states, state, busy) => {
  const run = runOf("r", { workers: { w: states } });
  expect(runState(run)).toBe(state);
  expect(isBusy(catalogOf([run]))).toBe(busy);
});

it("forgets places of one recording when another is chosen", () => {
  const [worker] = newer.workers;
  const patches = [patchForRun(older, {}), worker === undefined ? {} : patchForWorker(worker, {})];
  for (const patch of patches) {
    expect(Object.keys(patch)).toContain("timeline.select");
    expect(patch["timeline.select"]).toBeUndefined();
  }
  expect(Object.keys(patches[0] ?? {})).toContain("timeline.at");
});
