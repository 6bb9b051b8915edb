import { describe, expect, it, vi } from "vitest";
import { answer, fakeSource, randomTrace } from "../../../test-fixtures/fake_trace";
import { namesFrame } from "../../../test-fixtures/frames";
import { directLoader, type Fetch, type LoadRequest, transferable } from "./loader";
import { type FromWorker, openLoader, type ToWorker } from "./worker_loader";

const trace = randomTrace(5, 20, 40, 1e6);
const { base, query } = fakeSource(trace);
const request: LoadRequest = {
  kind: "tiles",
  url: `${base}tiles?${query}&level=8&tiles=0-1&blocks=0.0,0.16&layout=split`,
};
const { signal } = new AbortController();
const serve: Fetch = async (url) => new Response(answer(trace, url));

const ask = (reply: () => Promise<Response>, kind: LoadRequest["kind"] = "tiles") =>
  directLoader(reply).load({ ...request, kind }, signal);

describe("the loader", () => {
  it("answers with tiles, and with the pages of the names they speak of", async () => {
    const given = await directLoader(serve).load(request, signal);
    expect(given).toMatchObject({ state: "tiles", namePages: [0] });
    expect(transferable(given).length).toBe(8);
  });

  it("answers with names", async () => {
    const given = await ask(async () => new Response(namesFrame(3, ["a", "b"])), "names");
    expect(given).toEqual({ state: "names", names: { first: 3, texts: ["a", "b"] } });
  });

  it("is told later while the trace is read", async () => {
    const given = await ask(async () => new Response("{}", { status: 202 }));
    expect(given).toEqual({ state: "later" });
  });

  it.each([
    [404, true],
    [400, true],
    [500, false],
    [503, false],
  ])("says what the server says of its error %d", async (status, isFinal) => {
    const body = JSON.stringify({ error: { kind: "x", message: "No.", hint: "Look again." } });
    const given = await ask(async () => new Response(body, { status }));
    expect(given).toEqual({ state: "failed", message: "No. Look again.", isFinal });
  });

  it("makes something of what is no answer at all", async () => {
    expect(await ask(async () => new Response("<html>", { status: 502 }))).toEqual({
      state: "failed",
      message: "The server could not answer.",
      isFinal: false,
    });
    expect(await ask(() => Promise.reject(new TypeError("offline")))).toMatchObject({
      message: "The server does not answer.",
      isFinal: false,
    });
    expect(await ask(async () => new Response("a login page"))).toMatchObject({
      state: "failed",
      isFinal: true,
    });
  });

  it("takes nothing of a server that is of another version", async () => {
    const headers = { "Kinetoscope-Program": "99.0.0 aa" };
    const given = await ask(async () => new Response(answer(trace, request.url), { headers }));
    expect(given).toMatchObject({
      state: "failed",
      message: expect.stringContaining("The server is newer than this page"),
      isFinal: true,
    });
  });

  it("rejects when it is aborted", async () => {
    const controller = new AbortController();
    const loading = directLoader((_url, { signal: given }) => {
      controller.abort();
      return Promise.reject(given?.reason);
    }).load(request, controller.signal);
    await expect(loading).rejects.toThrow();
  });
});

/** A worker whose other side is played by the test. */
class PlayedWorker {
  onmessage: ((event: { data: FromWorker }) => void) | null = null;
  onerror: (() => void) | null = null;
  onmessageerror: (() => void) | null = null;
  readonly told: ToWorker[] = [];
  terminate = vi.fn();
  postMessage(message: ToWorker) {
    this.told.push(message);
  }
}

function played() {
  const worker = new PlayedWorker();
  const loader = openLoader(() => worker as unknown as Worker);
  return { worker, loader };
}

describe("the loader in a worker", () => {
  it("hands requests over and answers back", async () => {
    const { worker, loader } = played();
    const loading = loader.load(request, signal);
    expect(worker.told).toEqual([{ type: "load", id: 1, request }]);
    worker.onmessage?.({ data: { id: 0, answer: null } });
    worker.onmessage?.({ data: { id: 1, answer: { state: "later" } } });
    await expect(loading).resolves.toEqual({ state: "later" });
    loader.close();
    expect(worker.terminate).toHaveBeenCalled();
  });

  it("aborts there what is aborted here", async () => {
    const { worker, loader } = played();
    const controller = new AbortController();
    const loading = loader.load(request, controller.signal);
    controller.abort();
    expect(worker.told.at(-1)).toEqual({ type: "abort", id: 1 });
    worker.onmessage?.({ data: { id: 1, answer: null } });
    await expect(loading).rejects.toThrow("aborted");
    loader.close();
  });

  it("is done on the main thread where a worker may not be made", async () => {
    vi.stubGlobal("fetch", serve);
    const loader = openLoader(() => {
      throw new DOMException("sandboxed", "SecurityError");
    });
    await expect(loader.load(request, signal)).resolves.toMatchObject({ state: "tiles" });
  });

  it("is done on the main thread when the worker's script does not come", async () => {
    vi.stubGlobal("fetch", serve);
    const { worker, loader } = played();
    const loading = loader.load(request, signal);
    worker.onerror?.();
    await expect(loading).resolves.toMatchObject({ state: "tiles" });
    await expect(loader.load(request, signal)).resolves.toMatchObject({ state: "tiles" });
    expect(worker.told).toHaveLength(1);
  });

  it("is done on the main thread when the worker says nothing at all", async () => {
    vi.useFakeTimers();
    vi.stubGlobal("fetch", serve);
    const { loader } = played();
    const loading = loader.load(request, signal);
    await vi.advanceTimersByTimeAsync(9000);
    vi.useRealTimers();
    await expect(loading).resolves.toMatchObject({ state: "tiles" });
  });
});
