/** Figures of one row of the changes, in words and colours. */
import type { DiffRow } from "../../api/types.gen";
import { bytes, change, fixed, MINUS, NBSP, time } from "../../base/text/format";

/** Verdicts on a change that is more than noise. */
export const CLAIMED: ReadonlySet<string> = new Set([
  "added",
  "removed",
  "faster",
  "slower",
  "more",
  "less",
  "more calls",
  "fewer calls",
  "differs",
]);

export const METRIC_WORDS: Readonly<Record<string, string>> = {
  self_ns: "Host self",
  total_ns: "Host total",
  device_self_ns: "Device self",
  device_total_ns: "Device total",
  bytes: "Allocated",
  peak_bytes: "Held at the peak",
};
/** −98 %, +41 %; what was not there before is new. */
export function percent(base: number, other: number): string {
  if (base === 0) {
    return other === 0 ? "" : "new";
  }
  const ratio = (other / base - 1) * 100;
  if (Math.abs(ratio) < 0.5) {
    return `0${NBSP}%`;
  }
  return `${ratio < 0 ? MINUS : "+"}${fixed(Math.abs(ratio), 0)}${NBSP}%`;
}

export const isBytes = (metric: string) => metric.endsWith("bytes");
export const amount = (metric: string) => (isBytes(metric) ? bytes : time);

/** `+1.2 MiB`, `▲ +1.20 ms`. */
export function changed(value: number, metric: string): string {
  if (!isBytes(metric)) {
    return change(value);
  }
  return value === 0 ? "0" : value < 0 ? `▼ ${MINUS}${bytes(-value)}` : `▲ +${bytes(value)}`;
}

export function ChangeCell({ row, metric = "" }: { row: DiffRow; metric?: string }) {
  const isClaimed = CLAIMED.has(row.status);
  const sign = !isClaimed || row.change_ns === 0 ? "dim" : row.change_ns < 0 ? "better" : "worse";
  return <span className={`num nowrap ${sign}`}>{changed(row.change_ns, metric)}</span>;
}
