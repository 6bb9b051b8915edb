import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openInPerfetto, PERFETTO } from "./perfetto";

const posted = vi.fn<(message: unknown, origin: string) => void>();
const theirs = { postMessage: posted } as unknown as Window;
const bytes = new ArrayBuffer(8);

/** Our window, in which `open` gives theirs, or nothing where windows are blocked. */
function ours(opened: Window | null) {
  const listeners = new Set<(event: MessageEvent) => void>();
  const host = {
    open: vi.fn(() => opened),
    addEventListener: (_: string, listener: (event: MessageEvent) => void) =>
      listeners.add(listener),
    removeEventListener: (_: string, listener: (event: MessageEvent) => void) =>
      listeners.delete(listener),
  };
  const answer = (over: Partial<MessageEvent>) => {
    for (const listener of [...listeners]) {
      listener({ source: opened, origin: PERFETTO, data: "PONG", ...over } as MessageEvent);
    }
  };
  return { host: host as unknown as Window, answer, listeners };
}

const opening = (host: Window) =>
  openInPerfetto({ fetchTrace: async () => bytes, title: "run", fileName: "run.json" }, host);

beforeEach(() => {
  vi.useFakeTimers();
  posted.mockReset();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("Perfetto's own page", () => {
  it("is asked until it answers, and given the trace then", async () => {
    const { host, answer, listeners } = ours(theirs);
    const done = opening(host);
    await vi.advanceTimersByTimeAsync(350);
    expect(posted.mock.calls).toEqual([
      ["PING", PERFETTO],
      ["PING", PERFETTO],
      ["PING", PERFETTO],
    ]);
    answer({});
    await done;
    expect(posted.mock.calls.at(-1)).toEqual([
      { perfetto: { buffer: bytes, title: "run", fileName: "run.json", keepApiOpen: false } },
      PERFETTO,
    ]);
    await vi.advanceTimersByTimeAsync(1000);
    expect(posted).toHaveBeenCalledTimes(4);
    expect(listeners.size).toBe(0);
  });

  it("is believed only when it is itself", async () => {
    const { host, answer } = ours(theirs);
    const done = opening(host).catch((error: Error) => error.message);
    answer({ origin: "https://example.com" });
    answer({ source: null });
    answer({ data: "PING" });
    await vi.advanceTimersByTimeAsync(21_000);
    expect(await done).toContain("does not answer");
  });

  it("may be blocked by the browser, which is said", async () => {
    const { host } = ours(null);
    await expect(opening(host)).rejects.toThrow("blocked the window");
  });

  it("gets nothing when the trace cannot be fetched", async () => {
    const { host, answer } = ours(theirs);
    const failing = openInPerfetto(
      { fetchTrace: () => Promise.reject(new Error("409")), title: "", fileName: "" },
      host,
    );
    const done = expect(failing).rejects.toThrow("409");
    answer({});
    await done;
    expect(posted.mock.calls.every(([message]) => message === "PING")).toBe(true);
  });
});
