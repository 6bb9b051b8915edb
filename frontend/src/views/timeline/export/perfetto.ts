/**
 * Hands a trace to Perfetto's own page, by the protocol that it documents for embedding pages: its
 * window is opened, asked with "PING" until it answers "PONG", and then given the bytes. The trace
 * goes from this page to that one within the browser.
 */

export const PERFETTO = "https://ui.perfetto.dev";

const ASK_MS = 100;
const PATIENCE_MS = 20_000;

/** What can go wrong, in a sentence that says what to do. */
export class PerfettoError extends Error {
  override readonly name = "PerfettoError";
}

interface Opening {
  /** Fetches the trace; asked at once, so that it travels while the page opens. */
  readonly fetchTrace: () => Promise<ArrayBuffer>;
  readonly title: string;
  readonly fileName: string;
}

/** Resolves when the window has answered. */
function answered(opened: Window, host: Window): Promise<void> {
  return new Promise((resolve, reject) => {
    const asking = setInterval(() => opened.postMessage("PING", PERFETTO), ASK_MS);
    const giveUp = setTimeout(() => {
      stop();
      reject(
        new PerfettoError(
          "Perfetto's page does not answer: is there no network here? Download the window as a trace instead.",
        ),
      );
    }, PATIENCE_MS);
    const onMessage = (event: MessageEvent) => {
      if (event.source === opened && event.origin === PERFETTO && event.data === "PONG") {
        stop();
        resolve();
      }
    };
    function stop() {
      clearInterval(asking);
      clearTimeout(giveUp);
      host.removeEventListener("message", onMessage);
    }
    host.addEventListener("message", onMessage);
  });
}

/**
 * Opens the trace there. Must be called by a press: browsers block windows that open by themselves.
 *
 * Throws `PerfettoError` when the window is blocked or does not answer.
 */
export async function openInPerfetto(
  { fetchTrace, title, fileName }: Opening,
  host: Window = window,
): Promise<void> {
  const opened = host.open(PERFETTO);
  if (opened === null) {
    throw new PerfettoError(
      "The browser blocked the window. Allow windows of this page, or download the window as a trace and open it there.",
    );
  }
  const [buffer] = await Promise.all([fetchTrace(), answered(opened, host)]);
  opened.postMessage({ perfetto: { buffer, title, fileName, keepApiOpen: false } }, PERFETTO);
}
