import { useQueries, useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import type { Answer } from "../../../api/client";
import { toProblem } from "../../../api/problem";
import { getTrace, getView, type TraceKey } from "../../../api/routes";
import type {
  LayoutName,
  RankClock,
  ReadProgress,
  SpanInfo,
  TimelineManifest,
  TraceInfo,
} from "../../../api/types.gen";
import { share } from "../../../base/text/format";
import { usePageVisible } from "../../../state/host/visibility";
import { canFill, usePage } from "../../../state/page_context";
import { askAgain, useAsked, usePart, whileReading } from "../../../state/parts";
import { wallClock } from "../ruler/ruler";
import { type Alignment, formatNames, type Range } from "./address";

/** The recordings in one timeline: the chosen worker, and others of its run on the same axis. */

/** One recording, placed on the axis of the view. */
export interface Source {
  /** 0 is the chosen worker. */
  readonly source: number;
  /** Name of the worker. */
  readonly worker: string;
  readonly key: TraceKey;
  readonly digest: string;
  readonly manifest: TimelineManifest;
  /** ns to add to the times of this recording. */
  readonly offset: number;
}

export interface Recording {
  readonly worker: string;
  readonly key: TraceKey;
  readonly digest: string;
  readonly manifest: TimelineManifest;
}

/** What the recordings say of each other's clocks. */
export interface Clocks {
  readonly byWorker: ReadonlyMap<string, RankClock>;
  /** How they are known, or why they are not; "" while that is found out. */
  readonly sentence: string;
}

export const NO_CLOCKS: Clocks = { byWorker: new Map(), sentence: "" };

export interface Aligned {
  /** The shown recording first. */
  readonly sources: readonly [Source, ...Source[]];
  /** Where they are aligned by them. */
  readonly clocks: Clocks;
  /** What the offsets rest on; differs from the tileRequest where that is not possible. */
  readonly alignment: Alignment;
  /** One sentence where the picture needs it; "" else. */
  readonly note: string;
}

/** Start of the first step that both have, by name. */
function commonStep(a: TimelineManifest, b: TimelineManifest): readonly [number, number] | null {
  const starts = new Map(b.steps.map((step) => [step.name, step.ts]));
  for (const step of a.steps) {
    const other = starts.get(step.name);
    if (other !== undefined) {
      return [step.ts, other];
    }
  }
  return null;
}

function offsetBy(
  alignment: Alignment,
  { manifest: first }: Recording,
  { manifest: other, worker }: Recording,
  clocks: Clocks,
): number | null {
  if (alignment === "start") {
    return first.start_ns - other.start_ns;
  }
  if (alignment === "step") {
    const starts = commonStep(first, other);
    return starts === null ? null : starts[0] - starts[1];
  }
  const [a, b] = [wallClock(first.base_ns), wallClock(other.base_ns)];
  const correction = clocks.byWorker.get(worker)?.correction_ns ?? 0;
  return a === null || b === null ? null : Number(b - a) + correction;
}

const overlaps = (a: TimelineManifest, b: TimelineManifest, offset: number) =>
  b.start_ns + offset < a.end_ns && b.end_ns + offset > a.start_ns;

/** Whether every other recording can be placed so; by the clock, they must also meet. */
function offsetsBy(
  alignment: Alignment,
  first: Recording,
  others: readonly Recording[],
  clocks: Clocks,
): readonly number[] | null {
  const offsets = others.map((other) => offsetBy(alignment, first, other, clocks));
  const isSound = others.every(({ manifest }, place) => {
    const offset = offsets[place];
    const meets = alignment !== "clock" || overlaps(first.manifest, manifest, offset ?? 0);
    return typeof offset === "number" && meets;
  });
  return isSound ? offsets.map((offset) => offset ?? 0) : null;
}

const NOTES: Readonly<Record<Alignment, string>> = {
  clock: "Aligned by wall clock.",
  start: "Aligned by their first event: distances between workers mean nothing.",
  step: "Aligned by the start of their first common step.",
};

const UNSOUND: Readonly<Record<Alignment, string>> = {
  clock: "The clocks of these recordings do not match. ",
  start: "",
  step: "These recordings have no step in common. ",
};

/**
 * Places the recordings on the axis of the first one. What cannot be aligned as requested (no clock, no
 * common step, or clocks that do not meet) is aligned by the next best, and the note says so.
 */
export function align(
  first: Recording,
  others: readonly Recording[],
  tileRequest: Alignment,
  clocks: Clocks = NO_CLOCKS,
): Aligned {
  const order = [...new Set<Alignment>([tileRequest, "clock", "step", "start"])];
  let alignment: Alignment = "start";
  let offsets: readonly number[] = [];
  for (const candidate of order) {
    const found = offsetsBy(candidate, first, others, clocks);
    if (found !== null) {
      [alignment, offsets] = [candidate, found];
      break;
    }
  }
  const isByClock = alignment === "clock";
  const note = [
    (alignment === tileRequest ? "" : UNSOUND[tileRequest]) + NOTES[alignment],
    isByClock ? clocks.sentence : "",
  ];
  const placed = others.map((other, place) => ({
    ...other,
    source: place + 1,
    offset: offsets[place] ?? 0,
  }));
  return {
    sources: [{ ...first, source: 0, offset: 0 }, ...placed],
    alignment,
    clocks: isByClock ? clocks : NO_CLOCKS,
    note: others.length === 0 ? "" : note.filter(Boolean).join(" "),
  };
}

/** From the first start to the last end of all of them. */
export function wholeRange(sources: readonly Source[]): Range {
  const start = Math.min(...sources.map(({ manifest, offset }) => manifest.start_ns + offset));
  const end = Math.max(...sources.map(({ manifest, offset }) => manifest.end_ns + offset));
  return { start, end: Math.max(end, start + 1) };
}

/** Fetching the manifests: of the shown trace, and of the other workers that the user added. */

/** A worker that the user wants in the timeline, or another layout of it, that is not there yet. */
export interface Awaited {
  /** "" for the layout. */
  readonly worker: string;
  /** Why: "is read, 38 %". */
  readonly words: string;
  readonly isLost: boolean;
}

export interface ManifestState {
  readonly recording: Recording | null;
  /** The layout that was asked for, while `recording` is of the one before it. */
  readonly next: Awaited | null;
  readonly progress: ReadProgress | null;
  readonly problem: Error | null;
  readonly again: () => void;
}

const queryKey = (key: TraceKey, digest: string, layout: LayoutName) =>
  ["timeline", digest, key, layout] as const;

function nextLayout(
  answer: Answer<TimelineManifest> | undefined,
  problem: Error | null,
): Awaited | null {
  if (problem !== null) {
    const words = `This layout cannot be shown. ${toProblem(problem).message}`;
    return { worker: "", words, isLost: true };
  }
  return answer?.state === "reading"
    ? {
        worker: "",
        words: progressWords("This layout is prepared", answer.progress),
        isLost: false,
      }
    : null;
}

/**
 * The manifest of the shown trace. While another layout is fetched or prepared, the one before it
 * stays; how far its preparation is, is said beside it.
 */
export function useManifest(layout: LayoutName): ManifestState {
  const visible = usePageVisible();
  const { shown } = usePage();
  const { key, digest } = useAsked();
  const { data, error, refetch } = useQuery<Answer<TimelineManifest>>({
    queryKey: queryKey(key, digest, layout),
    queryFn: ({ signal }) => getView("timeline", key, digest, { layout }, signal),
    enabled: digest !== "" && canFill(shown, "timeline"),
    placeholderData: (before, query) => (query?.queryKey[1] === digest ? before : undefined),
    refetchInterval: whileReading(visible),
  });
  const manifest = data?.state === "ready" ? data.data : null;
  const [kept, keep] = useState<{ digest: string; manifest: TimelineManifest } | null>(null);
  if (manifest !== null && kept?.manifest !== manifest) {
    keep({ digest, manifest });
  }
  const latest = manifest ?? (kept?.digest === digest ? kept.manifest : null);
  return {
    recording: latest === null ? null : { worker: key.worker, key, digest, manifest: latest },
    next: manifest === null ? nextLayout(data, error) : null,
    progress: data?.state === "reading" ? data.progress : null,
    problem: error,
    again: () => {
      askAgain(refetch);
    },
  };
}

export interface Others {
  readonly recordings: readonly Recording[];
  readonly awaited: readonly Awaited[];
}

interface Wanted {
  readonly worker: string;
  readonly key: TraceKey;
  readonly span: SpanInfo | null;
}

const progressWords = (verb: string, { bytes_done, bytes_total }: ReadProgress) =>
  bytes_total > 0 ? `${verb}, ${share(Math.min(1, bytes_done / bytes_total), 0)}` : verb;

function wordsOf(
  { span }: Wanted,
  answer: Answer<TimelineManifest | TraceInfo> | undefined,
  error: Error | null,
): string {
  if (error !== null) {
    return toProblem(error).message;
  }
  if (span === null) {
    return "has no such span";
  }
  if (answer?.state === "reading") {
    return progressWords("is prepared", answer.progress);
  }
  return span.progress === null ? "is asked for" : progressWords("is read", span.progress);
}

/** The workers chosen beside the shown one, as far as they are there. */
export function useOthers(names: readonly string[], layout: LayoutName): Others {
  const visible = usePageVisible();
  const { catalog, shown } = usePage();
  const run = catalog.runs.find(({ name }) => name === shown?.key.run);
  const wanted = names
    .filter((name) => name !== shown?.key.worker)
    .map((worker): Wanted => {
      const spans = run?.workers.find(({ name }) => name === worker)?.spans ?? [];
      const span = spans.find(({ key }) => key === shown?.key.span) ?? null;
      // Lone spans of ranks belong together although their keys differ.
      const found = span ?? (spans.length === 1 ? (spans[0] ?? null) : null);
      return {
        worker,
        key: { run: run?.name ?? "", worker, span: found?.key ?? "" },
        span: found,
      };
    });
  const results = useQueries({
    queries: wanted.map(({ key, span }) => {
      const digest = span?.state === "ready" ? span.digest : "";
      return {
        queryKey: queryKey(key, digest, layout),
        // A file that is not read yet is moved to the front by asking for its trace.
        queryFn: ({ signal }: { signal: AbortSignal }) =>
          digest === ""
            ? getTrace(key, "", signal)
            : getView("timeline", key, digest, { layout }, signal),
        enabled: span !== null,
        refetchInterval: whileReading(visible),
      };
    }),
  });
  const recordings: Recording[] = [];
  const awaited: Awaited[] = [];
  wanted.forEach((want, place) => {
    const { data, error = null } = results[place] ?? {};
    const answer = data as Answer<TimelineManifest | TraceInfo> | undefined;
    if (answer?.state === "ready" && "tracks" in answer.data && want.span !== null) {
      const { worker, key, span } = want;
      recordings.push({ worker, key, digest: span.digest, manifest: answer.data });
    } else {
      const isLost = error !== null || want.span === null;
      awaited.push({ worker: want.worker, words: wordsOf(want, answer, error), isLost });
    }
  });
  return { recordings, awaited };
}

/** The clocks of the other workers, by the collectives that all of them took part in. */
export function useClocks(others: readonly Recording[], isWanted: boolean): Clocks {
  const names = formatNames(others.map(({ worker }) => worker));
  const { data, problem } = usePart(
    "distributed/clocks",
    useAsked(),
    isWanted && names !== "" ? { workers: names } : null,
    true,
  );
  return useMemo(() => {
    if (problem !== null) {
      return { byWorker: new Map(), sentence: `Shown as recorded. ${toProblem(problem).message}` };
    }
    if (data === undefined) {
      return NO_CLOCKS;
    }
    const { clocks, comparable, sentence } = data;
    return {
      byWorker: new Map(clocks.map((clock) => [clock.worker, clock])),
      sentence: comparable ? sentence : `${sentence} They are shown as recorded.`,
    };
  }, [data, problem]);
}

/** A list that stays the same object as long as its members are the same. */

export function useList<T>(list: readonly T[]): readonly T[] {
  const [kept, setKept] = useState(list);
  const isSame = kept.length === list.length && kept.every((item, place) => item === list[place]);
  if (!isSame) {
    setKept(list);
  }
  return isSame ? kept : list;
}
