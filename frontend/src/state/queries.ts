/** Fetching: what is asked when, how often, and how long an answer stays good. */
import {
  QueryClient,
  skipToken,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useEffect } from "react";
import type { Answer } from "../api/client";
import { Problem } from "../api/problem";
import {
  getCatalog,
  getInfo,
  getTrace,
  getView,
  rescan,
  retry,
  type TraceKey,
  type ViewStem,
} from "../api/routes";
import type { Catalog, ViewAnswers, ViewQueries } from "../api/types.gen";
import { usePageVisible } from "./host/visibility";
import { isBusy } from "./location/choice";
import { canFill, usePage } from "./page_context";
import { afterEarlier, sorted, whileReading, whileUnfinished } from "./parts";

const QUICK_MS = 1000;
const SLOW_MS = 10_000;

export function openQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        // The server may be on this machine, which need not be online for that.
        networkMode: "always",
        // Answers are keyed by the content of their file.
        staleTime: Number.POSITIVE_INFINITY,
        gcTime: 600_000,
        retry: false,
        refetchOnWindowFocus: false,
        throwOnError: false,
      },
      mutations: { networkMode: "always" },
    },
  });
}

const CATALOG = ["catalog"];

export function useInfo() {
  const visible = usePageVisible();
  return useQuery({
    queryKey: ["info"],
    queryFn: ({ signal }) => getInfo(signal),
    refetchInterval: (query) => (visible && query.state.status === "error" ? 3000 : false),
  });
}

/** The catalog, asked for quickly while something is being read, slowly else, never unseen. */
export function useCatalog() {
  const visible = usePageVisible();
  const client = useQueryClient();
  useEffect(() => {
    if (visible) {
      client.invalidateQueries({ queryKey: CATALOG }, { cancelRefetch: false });
    }
  }, [client, visible]);
  return useQuery({
    queryKey: CATALOG,
    queryFn: ({ signal }) => {
      const known = client.getQueryData<Catalog>(CATALOG);
      return getCatalog(known === undefined || known.runs.length === 0, signal);
    },
    staleTime: 0,
    refetchOnMount: false,
    refetchInterval: ({ state }) => {
      if (!visible) {
        return false;
      }
      const isUneasy = state.status === "error" || state.data === undefined || isBusy(state.data);
      return state.fetchFailureCount > 0 ? 3000 : isUneasy ? QUICK_MS : SLOW_MS;
    },
  });
}

/** The shell's part of a trace. Asking also moves the file to the front of the queue. */
export function useTrace(key: TraceKey | null, digest: string) {
  const visible = usePageVisible();
  const client = useQueryClient();
  return useQuery({
    queryKey: ["trace", key, digest],
    queryFn: async ({ signal }) => {
      if (key === null) {
        throw noTrace();
      }
      try {
        return await getTrace(key, digest, signal);
      } finally {
        if (digest === "" && signal.aborted === false) {
          // Asked for, the file is being read by now, or has been: the catalog tells how it goes.
          client.invalidateQueries({ queryKey: CATALOG }, { cancelRefetch: false });
        }
      }
    },
    enabled: key !== null,
    refetchInterval: whileReading(visible, QUICK_MS),
  });
}

const noTrace = () =>
  new Problem(404, { kind: "not_found", message: "No trace is chosen.", hint: "" });

/** The answer of a view for the shown trace, asked for again while it says that more is to come. */
export function useView<S extends ViewStem>(stem: S, query: ViewQueries[S]) {
  const visible = usePageVisible();
  const { shown } = usePage();
  const result = useQuery<Answer<ViewAnswers[S]>>({
    queryKey: ["view", stem, shown?.key, shown?.digest, query],
    queryFn: afterEarlier(({ signal }) =>
      shown === null
        ? Promise.reject(noTrace())
        : getView(stem, shown.key, shown.digest, query, signal),
    ),
    enabled: shown !== null && shown.digest !== "" && canFill(shown, stem),
    placeholderData: (previous) => previous,
    refetchInterval: whileUnfinished(visible, QUICK_MS, hasWaiting),
  });
  return sorted<ViewAnswers[S]>(result);
}

/** The number of findings of the Overview once it was answered; nothing is asked for it. */
export function useFindingCount(): number | null {
  const { shown } = usePage();
  const { data } = useQuery<Answer<ViewAnswers["overview"]>>({
    queryKey: ["view", "overview", shown?.key, shown?.digest, {}],
    queryFn: skipToken,
  });
  return data?.state === "ready" && data.data.waiting === 0 ? data.data.findings.length : null;
}

/** Recordings are being read that are to take part in the answer. */
export const hasWaiting = (answer: object): boolean =>
  "waiting" in answer && typeof answer.waiting === "number" && answer.waiting > 0;

/** Looking again, and reading a file again: both answer with the catalog as it is then. */
export function useCatalogActions() {
  const client = useQueryClient();
  const accept = (catalog: Catalog) => client.setQueryData(CATALOG, catalog);
  const look = useMutation({ mutationFn: rescan, onSuccess: accept });
  const read = useMutation({
    mutationFn: (file: { path: string; logdir: string }) => retry(file.path, file.logdir),
    onSuccess: accept,
  });
  return {
    look: () => look.mutate(),
    isLooking: look.isPending,
    retry: (path: string, logdir: string) => read.mutate({ path, logdir }),
    isRetrying: read.isPending,
    problem: look.error ?? read.error,
  };
}
