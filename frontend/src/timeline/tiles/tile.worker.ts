/** Fetches and decodes frames beside the main thread, which is busy drawing. */
import { directLoader, transferable } from "./loader";
import type { FromWorker, ToWorker } from "./worker_loader";

const loader = directLoader();
const running = new Map<number, AbortController>();

/** The worker's own global object; the types of the page speak of a window. */
const scope = self as unknown as {
  postMessage(message: FromWorker, transfer: Transferable[]): void;
  onmessage: ((event: MessageEvent<ToWorker>) => void) | null;
};

scope.onmessage = ({ data }) => {
  if (data.type === "abort") {
    running.get(data.id)?.abort();
    return;
  }
  const controller = new AbortController();
  running.set(data.id, controller);
  loader
    .load(data.request, controller.signal)
    .then(
      (answer) => scope.postMessage({ id: data.id, answer }, transferable(answer)),
      () => scope.postMessage({ id: data.id, answer: null }, []),
    )
    .finally(() => running.delete(data.id));
};

scope.postMessage({ id: 0, answer: null }, []);
