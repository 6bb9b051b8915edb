/** GET and JSON, with ETags, 202 while reading, and errors as `Problem`. The parsed border of the page. */
import { Problem } from "./problem";
import { checkProgram } from "./program";
import { fetchStored, isReport } from "./stored";
import type { ErrorAnswer, ErrorInfo, Reading, ReadProgress } from "./types.gen";

/**
 * An answer, or how far the server has come with reading the trace it needs. `next`: this one is of
 * earlier, and how far the server has come with the one of now.
 */
export type Answer<T> =
  | { readonly state: "ready"; readonly data: T; readonly next?: ReadProgress }
  | { readonly state: "reading"; readonly progress: ReadProgress };

export type Parameters = Readonly<Record<string, string | number | boolean | null | undefined>>;

interface Remembered {
  readonly etag: string;
  readonly data: unknown;
}

const remembered = new Map<string, Remembered>();
const REMEMBERED_MAX = 64;

/** The address of a route. Relative to the document, so that it works below any prefix. */
export function routeUrl(route: string, parameters: Parameters = {}): string {
  const url = new URL(route, document.baseURI);
  url.hash = "";
  for (const [key, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== null && value !== "") {
      url.searchParams.set(key, String(value));
    }
  }
  return url.href;
}

async function request(url: string, init: RequestInit) {
  const response = await fetched(url, init);
  checkProgram(response);
  return response;
}

async function fetched(url: string, init: RequestInit) {
  if (isReport) {
    return fetchStored(url);
  }
  try {
    return await fetch(url, { ...init, credentials: "same-origin" });
  } catch (thrown) {
    if (init.signal?.aborted) {
      throw thrown;
    }
    throw new Problem(0, {
      kind: "connection",
      message: "The server does not answer.",
      hint: "Is it still running?",
    });
  }
}

async function body(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch {
    throw new Problem(response.ok ? 502 : response.status, {
      kind: "answer",
      message: "The answer did not come from kinetoscope.",
      hint: "A proxy or a login page may be in between.",
    });
  }
}

function isErrorAnswer(answer: unknown): answer is ErrorAnswer {
  return typeof answer === "object" && answer !== null && "error" in answer;
}

function problemOf(response: Response, answer: unknown): Problem {
  const fallback: ErrorInfo = {
    kind: "answer",
    message: "The server could not answer.",
    hint: "Try again. The details have its status.",
  };
  const info = isErrorAnswer(answer) ? { ...fallback, ...answer.error } : fallback;
  return new Problem(response.status, info);
}

function remember(url: string, response: Response, data: unknown): void {
  const etag = response.headers.get("ETag");
  if (etag === null) {
    return;
  }
  remembered.delete(url);
  remembered.set(url, { etag, data });
  const oldest = remembered.keys().next();
  if (remembered.size > REMEMBERED_MAX && !oldest.done) {
    remembered.delete(oldest.value);
  }
}

export interface Asking {
  readonly signal?: AbortSignal | undefined;
  /**
   * How an earlier answer may be used: the browser's way, asking whether it changed (an unchanged
   * answer is the same object again, so that nothing is drawn anew), or not at all.
   */
  readonly known?: "browser" | "if changed" | "never";
}

/**
 * Asks a route. The type of the answer is what the generated types say of the route: this is the one
 * place where JSON is taken for it.
 */
export async function get<T>(
  route: string,
  parameters: Parameters = {},
  { signal, known = "browser" }: Asking = {},
): Promise<Answer<T>> {
  const url = routeUrl(route, parameters);
  const earlier = known === "if changed" ? remembered.get(url) : undefined;
  const headers: Record<string, string> = { Accept: "application/json" };
  if (earlier !== undefined) {
    headers["If-None-Match"] = earlier.etag;
  }
  const cache = known === "browser" ? "default" : "no-store";
  const response = await request(url, { headers, cache, signal: signal ?? null });
  if (response.status === 304 && earlier !== undefined) {
    return { state: "ready", data: earlier.data as T };
  }
  const answer = await body(response);
  if (response.status === 202) {
    return { state: "reading", progress: (answer as Reading).reading };
  }
  if (!response.ok) {
    throw problemOf(response, answer);
  }
  if (known !== "browser") {
    remember(url, response, answer);
  }
  return { state: "ready", data: answer as T };
}

export interface TakenFile {
  readonly blob: Blob;
  /** As the server calls it. */
  readonly name: string;
}

/** The file's name out of a Content-Disposition. */
export function fileNameOf(disposition: string | null): string {
  const encoded = /filename\*=UTF-8''([^;]+)/i.exec(disposition ?? "")?.[1];
  const quoted = /filename="([^"]*)"/i.exec(disposition ?? "")?.[1];
  try {
    return encoded === undefined ? (quoted ?? "") : decodeURIComponent(encoded);
  } catch {
    return quoted ?? "";
  }
}

async function binary<T>(
  route: string,
  parameters: Parameters,
  signal: AbortSignal | undefined,
  take: (response: Response) => Promise<T>,
): Promise<Answer<T>> {
  const response = await request(routeUrl(route, parameters), { signal: signal ?? null });
  if (response.status === 202) {
    return { state: "reading", progress: ((await body(response)) as Reading).reading };
  }
  if (!response.ok) {
    throw problemOf(response, await body(response));
  }
  return { state: "ready", data: await take(response) };
}

/** Asks a route that answers with a file to be kept. */
export const getFile = (route: string, parameters: Parameters = {}, signal?: AbortSignal) =>
  binary(
    route,
    parameters,
    signal,
    async (response): Promise<TakenFile> => ({
      blob: await response.blob(),
      name: fileNameOf(response.headers.get("Content-Disposition")),
    }),
  );

/** Asks a route that answers in binary. While the server prepares it, and of errors, it tells in JSON. */
export const getBytes = (route: string, parameters: Parameters = {}, signal?: AbortSignal) =>
  binary(route, parameters, signal, (response) => response.arrayBuffer());
