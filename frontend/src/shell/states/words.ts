/** Words of the shell for states and times. */
import type { State, WorkerInfo } from "../../api/types.gen";

export const STATE_WORDS: Readonly<Record<State, string>> = {
  ready: "ready",
  reading: "reading",
  queued: "not read yet",
  waiting: "still being written",
  refused: "not a trace",
  failed: "not read",
};

/** Beside a name in a list: nothing for what is ready. */
export const stateNote = (state: State) => (state === "ready" ? "" : STATE_WORDS[state]);

/** `rank 3`, unless the name says so already. */
export function rankNote(worker: WorkerInfo): string {
  if (
    worker.rank === null ||
    new RegExp(`rank[\\W_]*0*${worker.rank}(\\D|$)`, "i").test(worker.name)
  ) {
    return "";
  }
  return `rank ${worker.rank}`;
}
