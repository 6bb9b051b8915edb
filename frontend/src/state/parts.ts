/** Asking a part of a view: tables, details, whatever is fetched when it is needed. */
import { type QueryClient, type UseQueryResult, useQueries, useQuery } from "@tanstack/react-query";
import type { Answer } from "../api/client";
import { Problem } from "../api/problem";
import { getPart, type JsonPart, type TraceKey } from "../api/routes";
import type { PartAnswers, PartQueries, ReadProgress } from "../api/types.gen";
import { usePageVisible } from "./host/visibility";
import { usePage } from "./page_context";

/** The trace that is asked about. */
export interface Asked {
  readonly key: TraceKey;
  readonly digest: string;
}

/** While no trace is shown: nothing is asked. */
export const NOBODY: Asked = { key: { run: "", worker: "", span: "" }, digest: "" };

/** The trace that is shown. */
export const useAsked = (): Asked => usePage().shown ?? NOBODY;

/** How often to ask again while the server reads or prepares what the answer is taken from. */
export const whileReading =
  (visible: boolean, everyMs = 700) =>
  ({ state }: { state: { data?: Answer<unknown> | undefined } }): number | false =>
    visible && state.data?.state === "reading" ? everyMs : false;

function options<P extends JsonPart>(
  part: P,
  { key, digest }: Asked,
  query: PartQueries[P],
  enabled: boolean,
  visible: boolean,
) {
  return {
    queryKey: ["part", part, digest, key, query],
    queryFn: ({ signal }: { signal: AbortSignal }): Promise<Answer<PartAnswers[P]>> =>
      getPart(part, key, digest, query, signal),
    enabled,
    gcTime: 120_000,
    refetchInterval: whileReading(visible),
  };
}

export interface PartState<T> {
  readonly data: T | undefined;
  readonly isLoading: boolean;
  /** How far the server is with what the answer is taken from; it is asked again by itself. */
  readonly reading: ReadProgress | null;
  /** What is shown belongs to an earlier question. */
  readonly isOld: boolean;
  readonly problem: Error | null;
  readonly again: () => unknown;
}

/** The state of an answer, sorted for drawing. */
export function sorted<T>(result: UseQueryResult<Answer<T>>): PartState<T> {
  const { data, error, isFetching, isPlaceholderData, refetch } = result;
  return {
    data: data?.state === "ready" ? data.data : undefined,
    isLoading: isFetching || data?.state === "reading",
    reading: data?.state === "reading" ? data.progress : null,
    isOld: isPlaceholderData && data?.state === "ready",
    problem: error,
    again: refetch,
  };
}

/** `query` null: there is nothing to ask. `isKept`: the answer before it stays meanwhile. */
export function usePart<P extends JsonPart>(
  part: P,
  asked: Asked,
  query: PartQueries[P] | null,
  isKept = false,
): PartState<PartAnswers[P]> {
  const visible = usePageVisible();
  const isAsked = query !== null;
  const known = options(part, asked, query ?? ({} as PartQueries[P]), isAsked, visible);
  const result = useQuery<Answer<PartAnswers[P]>>({
    ...known,
    ...(isKept && isAsked
      ? {
          placeholderData: (
            before: Answer<PartAnswers[P]> | undefined,
            earlier: { queryKey: readonly unknown[] } | undefined,
          ) => (earlier?.queryKey[2] === asked.digest ? before : undefined),
        }
      : {}),
  });
  return sorted<PartAnswers[P]>(result);
}

/** The same question to several sources, in their order; undefined where the answer is not there. */
export function useParts<P extends JsonPart>(
  part: P,
  questions: readonly { readonly asked: Asked; readonly query: PartQueries[P] }[],
): readonly PartState<PartAnswers[P]>[] {
  const visible = usePageVisible();
  const results = useQueries({
    queries: questions.map(({ asked, query }) => options(part, asked, query, true, visible)),
  });
  return results.map((result) => sorted(result as UseQueryResult<Answer<PartAnswers[P]>>));
}

/** One answer for an action: a press of a key, a click. */
export async function askPart<P extends JsonPart>(
  client: QueryClient,
  part: P,
  asked: Asked,
  query: PartQueries[P],
): Promise<PartAnswers[P]> {
  const { queryKey, queryFn } = options(part, asked, query, true, true);
  const answer = await client.fetchQuery({ queryKey, queryFn });
  if (answer.state === "reading") {
    await client.invalidateQueries({ queryKey });
    throw new Problem(202, {
      kind: "reading",
      message: "This is still being prepared.",
      hint: "Ask again in a moment.",
    });
  }
  return answer.data;
}
