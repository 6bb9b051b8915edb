/** Starts of a run, in words: recordings of one launch of a program belong together. */
import type { RunInfo, WorkerInfo } from "../api/types.gen";
import { clock, day } from "../base/text/format";

/** `start 2 of 3, 14:05`, with the day where not all were on one; "" where a run has one start. */
export function startNote({ starts }: RunInfo, number: number): string {
  const start = starts.find((one) => one.number === number);
  if (start === undefined || starts.length < 2) {
    return "";
  }
  const at = new Date(start.saved * 1000);
  const days = new Set(starts.map(({ saved }) => day(new Date(saved * 1000))));
  const minute = clock(at).slice(0, -3);
  const when = days.size > 1 ? `${day(at)} ${minute}` : minute;
  return `start ${number} of ${starts.length}, ${when}`;
}

/** The newest start that a worker recorded in. */
export const newestStart = ({ spans }: WorkerInfo): number =>
  spans.reduce((most, { start }) => Math.max(most, start), 1);
