/** Catalogs for tests: runs from a table of worker → states of its spans. */
import type {
  Catalog,
  ErrorInfo,
  FileInfo,
  ReadProgress,
  RunInfo,
  SpanInfo,
  State,
  WorkerInfo,
} from "../src/api/types.gen";

export const NOW = 1_750_000_000;

export const progressOf = (over: Partial<ReadProgress> = {}): ReadProgress => ({
  phase: "reading events",
  bytes_done: 380_000_000,
  bytes_total: 1_000_000_000,
  events: 3_400_000,
  seconds: 6,
  seconds_left: 9,
  file: "",
  parts_done: 0,
  parts_total: 0,
  ...over,
});

const errorOf: Partial<Record<State, ErrorInfo>> = {
  refused: {
    kind: "lfs_pointer",
    message: "The file holds a Git LFS pointer of 132 bytes, not the recording itself.",
    hint: "Run `git lfs pull` where it was cloned.",
  },
  failed: {
    kind: "crashed",
    message: "The process that read the file was killed, likely for want of memory.",
    hint: "Close other programs and try again.",
  },
};

export function spanOf(key: string, state: State, over: Partial<SpanInfo> = {}): SpanInfo {
  return {
    key,
    label: `2021-06-08 10:24:${key.padStart(2, "0")}`,
    state,
    digest: state === "ready" ? `digest-${key}` : "",
    file: `worker.${key}.pt.trace.json.gz`,
    progress:
      state === "reading"
        ? progressOf()
        : state === "queued"
          ? progressOf({ phase: "waiting for a free process", bytes_done: 0, events: 0 })
          : null,
    error: errorOf[state] ?? null,
    steps: null,
    start: 1,
    ...over,
  };
}

export function workerOf(name: string, states: readonly State[]): WorkerInfo {
  const rank = /^rank(\d+)$/.exec(name)?.[1];
  return {
    name,
    rank: rank === undefined ? null : Number(rank),
    node: "",
    process: null,
    spans: states.map((state, i) =>
      spanOf(String(i + 1), state, { file: `${name}.${i + 1}.pt.trace.json.gz` }),
    ),
  };
}

export interface RunPlan {
  readonly modified?: number;
  readonly workers: Readonly<Record<string, readonly State[]>>;
}

export function runOf(name: string, plan: RunPlan): RunInfo {
  return {
    name,
    logdir: "./log",
    modified: plan.modified ?? NOW - 60,
    workers: Object.entries(plan.workers).map(([worker, states]) => workerOf(worker, states)),
    starts: [{ number: 1, saved: plan.modified ?? NOW - 60, note: "" }],
    captures: [],
  };
}

const VERDICTS: Readonly<Record<State, string>> = {
  ready: "in use",
  reading: "reading",
  queued: "queued",
  waiting: "waiting",
  refused: "not a trace",
  failed: "failed",
};

export function fileOf(path: string, state: State, over: Partial<FileInfo> = {}): FileInfo {
  const isRead = state === "ready";
  return {
    path,
    logdir: "./log",
    run: path.includes("/") ? (path.split("/")[0] ?? null) : null,
    worker: null,
    span: null,
    bytes: 1_153_434,
    modified: NOW - 3600,
    state,
    events: isRead ? 75_718 : null,
    read_seconds: isRead ? 0.9 : null,
    from_cache: false,
    verdict: VERDICTS[state],
    reason: isRead ? "" : (errorOf[state]?.message ?? ""),
    hint: "",
    ...over,
  };
}

export function catalogOf(runs: readonly RunInfo[], over: Partial<Catalog> = {}): Catalog {
  const files = runs.flatMap((run) =>
    run.workers.flatMap((worker) =>
      worker.spans.map((span) => fileOf(`${run.name}/${span.file}`, span.state)),
    ),
  );
  return {
    version: "1",
    logdirs: ["./log"],
    problems: [],
    scanning: false,
    looked: NOW,
    runs,
    files,
    files_total: files.length,
    ...over,
  };
}
