/** The routes of the server, typed. */
import { type Answer, get, getBytes, getFile, routeUrl } from "./client";
import { Problem } from "./problem";
import { agreed } from "./program";
import type {
  Catalog,
  Info,
  PartAnswers,
  PartQueries,
  SourcePlace,
  TraceInfo,
  ViewAnswers,
  ViewQueries,
} from "./types.gen";

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

export const getInfo = async (signal?: AbortSignal) =>
  agreed(await now(get<Info>("api/info", {}, { signal, known: "never" })));

/** `isFresh`: also when it last looked matters, which alone does not count as a change. */
export const getCatalog = (isFresh: boolean, signal?: AbortSignal) =>
  now(get<Catalog>("api/catalog", {}, { signal, known: isFresh ? "never" : "if changed" }));

/** Looks into the logdirs again at once. */
export const rescan = () => now(get<Catalog>("api/rescan", {}, { known: "never" }));

/** Reads a failed or refused file again. */
export const retry = (path: string, logdir: string) =>
  now(get<Catalog>("api/retry", { path, logdir }, { known: "never" }));

export const getTrace = (key: TraceKey, digest: string, signal?: AbortSignal) =>
  get<TraceInfo>("api/trace", { ...key, digest }, { signal });

/** Where a source file of a stack is; depends on the server's disk. */
export const getSource = (key: TraceKey, file: string, line: number, signal?: AbortSignal) =>
  now(get<SourcePlace>("api/source", { ...key, file, line }, { signal, known: "never" }));

/** The shown recording as one file for others, which the server makes now. */
export const getReport = (key: TraceKey, steps: string) => getFile("api/report", { ...key, steps });

/** With the digest, the answer is one that never changes. */
export const getView = <S extends ViewStem>(
  stem: S,
  key: TraceKey,
  digest: string,
  query: ViewQueries[S],
  signal?: AbortSignal,
) => get<ViewAnswers[S]>(`api/view/${stem}`, { ...key, digest, ...query }, { signal });

export type PartStem = keyof PartAnswers & keyof PartQueries;

export type JsonPart = {
  [P in PartStem]: PartAnswers[P] extends ArrayBuffer ? never : P;
}[PartStem];

/** A part of a view, for example "timeline/slice". */
export const getPart = <P extends JsonPart>(
  part: P,
  key: TraceKey,
  digest: string,
  query: PartQueries[P],
  signal?: AbortSignal,
) => get<PartAnswers[P]>(`api/view/${part}`, { ...key, digest, ...query }, { signal });

/** A part of a view that answers in binary. */
export const getPartBytes = <P extends PartStem>(
  part: P,
  key: TraceKey,
  digest: string,
  query: PartQueries[P],
  signal?: AbortSignal,
) => getBytes(`api/view/${part}`, { ...key, digest, ...query }, signal);

/** The address of a part that is a download. */
export const partUrl = <P extends keyof PartQueries>(
  part: P,
  key: TraceKey,
  digest: string,
  query: PartQueries[P],
) => routeUrl(`api/view/${part}`, { ...key, digest, ...query });

/** A part of a view that is a download, fetched. */
export const getPartFile = <P extends keyof PartQueries>(
  part: P,
  key: TraceKey,
  digest: string,
  query: PartQueries[P],
  signal?: AbortSignal,
) => getFile(`api/view/${part}`, { ...key, digest, ...query }, signal);
