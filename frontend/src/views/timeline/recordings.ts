/** Fetching the manifests: of the shown trace, and of the other workers that the user added. */
import { useQueries, useQuery } from "@tanstack/react-query";
import type { Answer } from "../../api/client";
import { toProblem } from "../../api/problem";
import { getTrace, getView, type TraceKey } from "../../api/routes";
import type {
  LayoutName,
  ReadProgress,
  SpanInfo,
  TimelineManifest,
  TraceInfo,
} from "../../api/types.gen";
import { share } from "../../base/format";
import { canFill, usePage } from "../../state/page_context";
import { usePageVisible } from "../../state/visibility";
import type { Recording } from "./sources";

const AGAIN_MS = 700;

/** The first open prepares the timeline, which may take a while; then it is asked again. */
const whileReading =
  (visible: boolean) => (query: { state: { data?: Answer<unknown> | undefined } }) =>
    visible && query.state.data?.state === "reading" ? AGAIN_MS : false;

export interface ManifestState {
  readonly recording: Recording | null;
  readonly progress: ReadProgress | null;
  readonly problem: Error | null;
  readonly again: () => void;
}

const queryKey = (key: TraceKey, digest: string, layout: LayoutName) =>
  ["timeline", digest, key, layout] as const;

/** The manifest of the shown trace. While another layout is prepared, the one before it stays. */
export function useManifest(layout: LayoutName): ManifestState {
  const visible = usePageVisible();
  const { shown } = usePage();
  const key = shown?.key ?? { run: "", worker: "", span: "" };
  const digest = shown?.digest ?? "";
  const { data, error, refetch } = useQuery<Answer<TimelineManifest>>({
    queryKey: queryKey(key, digest, layout),
    queryFn: ({ signal }) => getView("timeline", key, digest, { layout }, signal),
    enabled: digest !== "" && canFill(shown, "timeline"),
    placeholderData: (before, query) => (query?.queryKey[1] === digest ? before : undefined),
    refetchInterval: whileReading(visible),
  });
  return {
    recording:
      data?.state === "ready" ? { worker: key.worker, key, digest, manifest: data.data } : null,
    progress: data?.state === "reading" ? data.progress : null,
    problem: error,
    again: () => {
      refetch();
    },
  };
}

/** A worker that the user wants in the timeline, and is not there yet. */
export interface Awaited {
  readonly worker: string;
  /** Why: "is read, 38 %". */
  readonly words: string;
  readonly isLost: boolean;
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
