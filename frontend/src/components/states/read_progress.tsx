/** How far the server is with reading a recording, or with preparing something of it. */
import type { ReadProgress } from "../../api/types.gen";
import { count, roughly, share } from "../../base/text/format";

const ratioOf = (progress: ReadProgress | null) =>
  progress === null || progress.bytes_total === 0
    ? 0
    : Math.min(1, progress.bytes_done / progress.bytes_total);

/** `reading events · 38 % · 3.40 M events · about 9 s left` */
export function progressWords(progress: ReadProgress): string {
  const { phase, bytes_done, events, seconds_left } = progress;
  const words = [
    phase,
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
