/** Asking a part of a view: tables, details, whatever is fetched when it is needed. */
import {
  type QueryClient,
  type QueryFunctionContext,
  type UseQueryResult,
  useQueries,
  useQuery,
} from "@tanstack/react-query";
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

/** Whether the server is still at it: there is no answer yet, or a newer one is on its way. */
export const isOnItsWay = (answer: Answer<unknown> | undefined): boolean =>
  answer?.state === "reading" || answer?.next !== undefined;

const PART_MS = 700;

/** How often to ask again while the server reads or prepares what the answer is taken from. */
export const whileReading =
  (visible: boolean, everyMs = PART_MS) =>
  ({ state }: { state: { data?: Answer<unknown> | undefined } }): number | false =>
    visible && isOnItsWay(state.data) ? everyMs : false;

/** How often to ask again, too, while an answer is one of several that are to come. */
export const whileUnfinished = <T>(
  visible: boolean,
  everyMs: number,
  isUnfinished: (data: T) => boolean,
) => {
  const reading = whileReading(visible, everyMs);
  return (query: { state: { data?: Answer<T> | undefined } }): number | false => {
    const { data } = query.state;
    return visible && data?.state === "ready" && isUnfinished(data.data)
      ? UNFINISHED_MS
      : reading(query);
  };
};

const UNFINISHED_MS = 2000;

/** Ask again, without taking back what was asked: the server may be at work on it for long. */
export const askAgain = (refetch: UseQueryResult["refetch"]) => refetch({ cancelRefetch: false });

/** While the answer of now is computed, the one before it to the same question stays. */
export const afterEarlier =
  <T>(ask: (context: QueryFunctionContext) => Promise<Answer<T>>) =>
  async (context: QueryFunctionContext): Promise<Answer<T>> => {
    const answer = await ask(context);
    const earlier = context.client.getQueryData<Answer<T>>(context.queryKey);
    return answer.state === "reading" && earlier?.state === "ready"
      ? { ...earlier, next: answer.progress }
      : answer;
  };

function options<P extends JsonPart>(
  part: P,
  { key, digest }: Asked,
  query: PartQueries[P],
  enabled: boolean,
  visible: boolean,
) {
  return {
    queryKey: ["part", part, digest, key, query],
    queryFn: afterEarlier<PartAnswers[P]>(({ signal }) =>
      getPart(part, key, digest, query, signal),
    ),
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
    isLoading: isFetching || isOnItsWay(data),
    reading: data?.state === "reading" ? data.progress : (data?.next ?? null),
    isOld: isPlaceholderData && data?.state === "ready",
    problem: error,
    again: () => askAgain(refetch),
  };
}

/** `query` null: there is nothing to ask. `isKept`: the answer before it stays meanwhile. */
export function usePart<P extends JsonPart>(
  part: P,
  asked: Asked,
  query: PartQueries[P] | null,
  isKept = false,
  isUnfinished: (data: PartAnswers[P]) => boolean = () => false,
): PartState<PartAnswers[P]> {
  const visible = usePageVisible();
  const isAsked = query !== null;
  const known = options(part, asked, query ?? ({} as PartQueries[P]), isAsked, visible);
  const result = useQuery<Answer<PartAnswers[P]>>({
    ...known,
    refetchInterval: whileUnfinished(visible, PART_MS, isUnfinished),
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

const isBeingComputed = ({ bytes_total }: ReadProgress) => bytes_total === 0;

/** One answer for an action: a press of a key, a click. What is being computed is waited for. */
export async function askPart<P extends JsonPart>(
  client: QueryClient,
  part: P,
  asked: Asked,
  query: PartQueries[P],
): Promise<PartAnswers[P]> {
  const { queryKey, queryFn } = options(part, asked, query, true, true);
  const answer = await client.fetchQuery({ queryKey, queryFn });
  if (answer.state === "reading") {
    await client.invalidateQueries({ queryKey }, { cancelRefetch: false });
    if (isBeingComputed(answer.progress)) {
      await new Promise((resolve) => setTimeout(resolve, PART_MS));
      return askPart(client, part, asked, query);
    }
    throw new Problem(202, {
      kind: "reading",
      message: "This is still being prepared.",
      hint: "Ask again in a moment.",
    });
  }
  return answer.data;
}
