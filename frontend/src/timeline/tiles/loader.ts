/**
 * Asks the server for a frame and decodes it. The same code runs in a worker and, where there can be
 * none, on the main thread.
 */
import { toProblem } from "../../api/problem";
import { checkProgram } from "../../api/program";
import { decodeCounterTiles } from "../frame/counters";
import { FrameError } from "../frame/frame";
import { decodeNames, type NameRange } from "../frame/names";
import { decodeSliceTiles, type SliceTile } from "../frame/slices";
import { NAME_PAGE } from "../names/name_table";
import type { AnyTile } from "./store";

export interface LoadRequest {
  readonly kind: "tiles" | "counters" | "names";
  /** Absolute. */
  readonly url: string;
}

export type LoadAnswer =
  | {
      readonly state: "tiles";
      readonly tiles: readonly AnyTile[];
      /** Which pages of names the tiles speak of. */
      readonly namePages: readonly number[];
    }
  | { readonly state: "names"; readonly names: NameRange }
  /** The server is still reading the trace. */
  | { readonly state: "later" }
  /** `isFinal`: asking again is of no use. */
  | { readonly state: "failed"; readonly message: string; readonly isFinal: boolean };

export interface Loader {
  /** Never rejects, except when it is aborted. */
  load(request: LoadRequest, signal: AbortSignal): Promise<LoadAnswer>;
  close(): void;
}

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export function directLoader(fetchFrame: Fetch = (url, init) => fetch(url, init)): Loader {
  return {
    load: (request, signal) => load(request, signal, fetchFrame),
    close: () => undefined,
  };
}

async function load(
  request: LoadRequest,
  signal: AbortSignal,
  fetchFrame: Fetch,
): Promise<LoadAnswer> {
  let response: Response;
  try {
    response = await fetchFrame(request.url, { credentials: "same-origin", signal });
  } catch (thrown) {
    if (signal.aborted) {
      throw thrown;
    }
    return failed("The server does not answer.", false);
  }
  try {
    checkProgram(response);
  } catch (thrown) {
    return failed(`${toProblem(thrown).message} ${toProblem(thrown).hint}`, true);
  }
  if (response.status === 202) {
    await response.body?.cancel();
    return { state: "later" };
  }
  if (!response.ok) {
    return failed(await messageOf(response), response.status < 500);
  }
  try {
    return decode(request.kind, await response.arrayBuffer());
  } catch (thrown) {
    if (signal.aborted) {
      throw thrown;
    }
    if (thrown instanceof FrameError) {
      return failed(`The server's picture of the trace cannot be read: ${thrown.message}.`, true);
    }
    return failed("The connection broke while the timeline was loading.", false);
  }
}

const failed = (message: string, isFinal: boolean): LoadAnswer => ({
  state: "failed",
  message,
  isFinal,
});

/** What the server says of its error, else that there is none. */
async function messageOf(response: Response): Promise<string> {
  const fallback = "The server could not answer.";
  try {
    const answer: unknown = await response.json();
    const error = (answer as { error?: { message?: unknown; hint?: unknown } } | null)?.error;
    const texts = [error?.message, error?.hint].filter((text) => typeof text === "string");
    return texts.filter((text) => text !== "").join(" ") || fallback;
  } catch {
    return fallback;
  }
}

function decode(kind: LoadRequest["kind"], buffer: ArrayBuffer): LoadAnswer {
  switch (kind) {
    case "names":
      return { state: "names", names: decodeNames(buffer) };
    case "counters":
      return { state: "tiles", tiles: decodeCounterTiles(buffer), namePages: [] };
    case "tiles": {
      const tiles = decodeSliceTiles(buffer);
      return { state: "tiles", tiles, namePages: namePages(tiles) };
    }
  }
}

function namePages(tiles: readonly SliceTile[]): number[] {
  const pages = new Set<number>();
  for (const { rectName, bucketName } of tiles) {
    for (const column of [rectName, bucketName]) {
      for (let i = 0; i < column.length; i += 1) {
        pages.add(Math.floor((column[i] as number) / NAME_PAGE));
      }
    }
  }
  return [...pages].sort((a, b) => a - b);
}

/** The memory of an answer that a worker hands over instead of copying it. */
export function transferable(answer: LoadAnswer): ArrayBuffer[] {
  if (answer.state !== "tiles") {
    return [];
  }
  return answer.tiles
    .flatMap((tile) =>
      tile.type === "slices" ? [tile.x0.buffer, tile.x.buffer] : [tile.low.buffer],
    )
    .filter((buffer): buffer is ArrayBuffer => buffer instanceof ArrayBuffer);
}
