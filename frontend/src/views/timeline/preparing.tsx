/** Before the first tile: the shape of what comes, and how far the server is with it. */
import type { ReadProgress } from "../../api/types.gen";
import { count, share, time } from "../../base/format";
import { useLasting } from "../../state/timing";

const LANES = [
  [4, 62],
  [10, 40],
  [18, 30],
  [6, 70],
  [30, 22],
  [12, 55],
  [40, 34],
  [8, 48],
] as const;

function Bones() {
  return (
    <div className="tl-bones" aria-hidden="true">
      {LANES.map(([left, width]) => (
        <i
          key={`${left} ${width}`}
          className="skeleton"
          style={{ marginLeft: `${left}%`, width: `${width}%` }}
        />
      ))}
    </div>
  );
}

export function Skeleton() {
  return useLasting(true) ? (
    <section className="tl-waiting" aria-busy="true">
      <span className="unseen">Opening the timeline</span>
      <Bones />
    </section>
  ) : null;
}

function progressText({ bytes_done, bytes_total, events, seconds_left }: ReadProgress): string {
  const ratio = bytes_total > 0 ? share(Math.min(1, bytes_done / bytes_total), 0) : "";
  const facts = [
    ratio,
    events > 0 ? `${count(events)} events` : "",
    seconds_left === null ? "" : `about ${time(seconds_left * 1e9)} left`,
  ];
  return facts.filter(Boolean).join(" · ");
}

/** The first open of a trace lays its slices out in lanes and levels; later ones find that done. */
export function Preparing({ progress }: { progress: ReadProgress }) {
  const { phase, bytes_done, bytes_total } = progress;
  const ratio = bytes_total === 0 ? 0 : Math.min(1, bytes_done / bytes_total);
  return (
    <section className="tl-waiting">
      <div className="tl-progress" aria-live="polite">
        <h1>Preparing the timeline</h1>
        <div
          className="bar"
          role="progressbar"
          aria-label="Preparing the timeline"
          aria-valuemin={0}
          aria-valuemax={100}
          aria-valuenow={Math.round(ratio * 100)}
        >
          <i style={{ width: `${ratio * 100}%` }} />
        </div>
        <p className="ink2">{[phase, progressText(progress)].filter(Boolean).join(" · ")}</p>
        <p className="dim small">This is done once for each trace.</p>
      </div>
      <Bones />
    </section>
  );
}
