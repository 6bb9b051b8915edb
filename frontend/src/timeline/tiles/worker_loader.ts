/**
 * The loader in a worker. A frame may forbid workers (a sandbox without an origin does): then, and
 * when the worker's script does not come, what was asked is done on the main thread.
 */
import { fetchStored, isReport } from "../../api/stored";
import { directLoader, type LoadAnswer, type Loader, type LoadRequest } from "./loader";

export type ToWorker =
  | { readonly type: "load"; readonly id: number; readonly request: LoadRequest }
  | { readonly type: "abort"; readonly id: number };

/** `answer` is null when the request was aborted. The first message, of id 0, says that it runs. */
export interface FromWorker {
  readonly id: number;
  readonly answer: LoadAnswer | null;
}

interface Waiting {
  readonly request: LoadRequest;
  readonly signal: AbortSignal;
  readonly resolve: (answer: LoadAnswer | Promise<LoadAnswer>) => void;
  readonly reject: (reason: unknown) => void;
}

/** A worker that has not said a word by then never will. */
const SILENT_MS = 8000;

export function openLoader(makeWorker: () => Worker = newWorker): Loader {
  if (isReport) {
    return directLoader(fetchStored);
  }
  const direct = directLoader();
  const waiting = new Map<number, Waiting>();
  let lastId = 0;
  let worker: Worker | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function giveUp(): void {
    clearTimeout(timer);
    worker?.terminate();
    worker = null;
    for (const { request, signal, resolve } of waiting.values()) {
      resolve(direct.load(request, signal));
    }
    waiting.clear();
  }

  function onMessage({ data }: MessageEvent<FromWorker>): void {
    clearTimeout(timer);
    const asked = waiting.get(data.id);
    waiting.delete(data.id);
    if (data.answer === null) {
      asked?.reject(new DOMException("aborted", "AbortError"));
    } else {
      asked?.resolve(data.answer);
    }
  }

  try {
    worker = makeWorker();
    worker.onmessage = onMessage;
    worker.onerror = giveUp;
    worker.onmessageerror = giveUp;
    timer = setTimeout(giveUp, SILENT_MS);
  } catch {
    worker = null;
  }

  return {
    load(request, signal) {
      if (worker === null) {
        return direct.load(request, signal);
      }
      const running = worker;
      lastId += 1;
      const id = lastId;
      return new Promise((resolve, reject) => {
        waiting.set(id, { request, signal, resolve, reject });
        signal.addEventListener("abort", () => running.postMessage(abortOf(id)), { once: true });
        running.postMessage({ type: "load", id, request } satisfies ToWorker);
      });
    },
    close() {
      clearTimeout(timer);
      worker?.terminate();
      worker = null;
      waiting.clear();
    },
  };
}

const abortOf = (id: number): ToWorker => ({ type: "abort", id });

/** A worker that was started before anybody knew what to ask it. */
let ready: Worker | null = null;

/** Starts the worker of the next loader, so that its script comes while the page is being made. */
export function warmUp(): void {
  if (isReport) {
    return;
  }
  try {
    ready ??= startWorker();
    ready.onerror = () => {
      ready = null;
    };
  } catch {
    // Workers are forbidden: the loader finds out for itself.
  }
}

function newWorker(): Worker {
  const worker = ready ?? startWorker();
  ready = null;
  return worker;
}

const startWorker = (): Worker =>
  new Worker(new URL("./tile.worker.ts", import.meta.url), { type: "module" });
