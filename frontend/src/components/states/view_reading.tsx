/** In the place of a view: its trace is being read again. */
import type { ReadProgress } from "../../api/types.gen";
import { bytes } from "../../base/text/format";

export function ViewReading({ progress }: { progress: ReadProgress }) {
  const { phase, bytes_done, bytes_total } = progress;
  const ratio = bytes_total === 0 ? 0 : Math.min(1, bytes_done / bytes_total);
  return (
    <section className="stack" aria-live="polite">
      <h1>Reading the trace</h1>
      <div className="bar" aria-hidden="true">
        <i style={{ width: `${ratio * 100}%` }} />
      </div>
      <p className="ink2">
        {phase} · {bytes(bytes_done)} of {bytes(bytes_total)}
      </p>
    </section>
  );
}
