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

/** The node and the process of a worker, unless its name says so already. */
export function placeNotes({ name, node, process }: WorkerInfo): readonly string[] {
  return [
    node !== "" && !name.includes(node) ? node : "",
    process !== null && !new RegExp(`(^|\\D)${process}(\\D|$)`).test(name)
      ? `process ${process}`
      : "",
  ];
}

/** The same in full, for a tooltip: `Worker a_7 · node a · process 7 · rank 0`. */
export function placeTitle({ name, node, process, rank }: WorkerInfo): string {
  return [
    `Worker ${name}`,
    node === "" ? "" : `node ${node}`,
    process === null ? "" : `process ${process}`,
    rank === null ? "" : `rank ${rank}`,
  ]
    .filter((word) => word !== "")
    .join(" · ");
}
