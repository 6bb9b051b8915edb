/** How far the server is with reading a recording, or with preparing something of it. */
import type { ReadProgress } from "../../api/types.gen";
import { count, roughly, share } from "../../base/text/format";

function ratioOf(progress: ReadProgress | null): number {
  const { bytes_done = 0, bytes_total = 0, parts_done = 0, parts_total = 0 } = progress ?? {};
  if (parts_total > 0) {
    return Math.min(1, parts_done / parts_total);
  }
  return bytes_total === 0 ? 0 : Math.min(1, bytes_done / bytes_total);
}

/** `reading events · 38 % · 3.40 M events · about 9 s left`, `reading digests · 512 of 1,024` */
export function progressWords(progress: ReadProgress): string {
  const { phase, bytes_done, events, parts_done, parts_total, seconds_left } = progress;
  const words = [
    phase,
    parts_total > 0 ? `${count(parts_done)} of ${count(parts_total)}` : "",
    bytes_done > 0 ? share(ratioOf(progress), 0) : "",
    events > 0 ? `${count(events)} events` : "",
    seconds_left === null ? "" : `about ${roughly(Math.max(1, seconds_left))} left`,
  ];
  return words.filter(Boolean).join(" · ");
}

/** The part that is done; `label` names what is being read. */
export function ReadBar({ progress, label }: { progress: ReadProgress | null; label: string }) {
  const percent = 100 * ratioOf(progress);
  return (
    <div
      className="bar"
      role="progressbar"
      aria-label={label}
      aria-valuenow={Math.round(percent)}
      aria-valuemin={0}
      aria-valuemax={100}
    >
      <i style={{ width: `${percent}%` }} />
    </div>
  );
}
