/** The routes of the server, typed. */
import { type Answer, get } from "./client";
import { Problem } from "./problem";
import type { Catalog, Info, TraceInfo, ViewAnswers, ViewQueries } from "./types.gen";

/** Which trace: one worker and one span of a run. */
export interface TraceKey {
  readonly run: string;
  readonly worker: string;
  readonly span: string;
}

export type ViewStem = keyof ViewAnswers & keyof ViewQueries;

async function now<T>(answer: Promise<Answer<T>>): Promise<T> {
  const given = await answer;
  if (given.state === "reading") {
    throw new Problem(202, { kind: "reading", message: "Still reading.", hint: "Ask again." });
  }
  return given.data;
}

export const getInfo = (signal?: AbortSignal) => now(get<Info>("api/info", {}, signal));

export const getCatalog = (signal?: AbortSignal) => now(get<Catalog>("api/catalog", {}, signal));

/** Looks into the logdirs again at once. */
export const rescan = () => now(get<Catalog>("api/rescan"));

/** Reads a failed or refused file again. */
export const retry = (path: string, logdir: string) =>
  now(get<Catalog>("api/retry", { path, logdir }));

export const getTrace = (key: TraceKey, signal?: AbortSignal) =>
  get<TraceInfo>("api/trace", { ...key }, signal);

export const getView = <S extends ViewStem>(
  stem: S,
  key: TraceKey,
  query: ViewQueries[S],
  signal?: AbortSignal,
) => get<ViewAnswers[S]>(`api/view/${stem}`, { ...key, ...query }, signal);
