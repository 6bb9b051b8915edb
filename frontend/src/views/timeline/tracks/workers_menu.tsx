/** Other workers of the run on the same axis. */

import { harmless } from "../../../base/text/shown_name";
import { Segmented } from "../../../components/controls/segmented";
import { Popover } from "../../../components/overlays/popover";
import { Chevron } from "../../../components/text/icons";
import { usePage } from "../../../state/page_context";
import { ALIGNMENTS, type Alignment, oneOf } from "../state/address";
import { useTimelineContext } from "../state/context";

/** More of them than this fit no screen, and no browser's memory. */
export const WORKERS_MAX = 8;

const ALIGNMENT_WORDS = [
  ["clock", "Wall clock"],
  ["step", "First common step"],
  ["start", "First event"],
] as const satisfies readonly (readonly [Alignment, string])[];

export function WorkersMenu() {
  const { link, change, alignmentNote } = useTimelineContext();
  const { catalog, shown } = usePage();
  const workers = catalog.runs.find(({ name }) => name === shown?.key.run)?.workers ?? [];
  const others = workers.filter(({ name }) => name !== shown?.key.worker);
  if (others.length === 0) {
    return null;
  }
  const chosen = new Set(link.workers);
  const known = others.filter(({ name }) => chosen.has(name));
  const isFull = known.length + 1 >= WORKERS_MAX;
  const toggle = (name: string, isIn: boolean) => {
    const rest = link.workers.filter((other) => other !== name);
    change({ workers: isIn ? [...rest, name] : rest });
  };
  return (
    <Popover
      className="btn tl-choice"
      kind="dialog"
      label={`Workers ${known.length + 1} of ${workers.length} in this timeline`}
      button={
        <>
          <span>
            Workers{" "}
            <span className="dim">
              {known.length + 1} of {workers.length}
            </span>
          </span>
          <Chevron />
        </>
      }
    >
      {() => (
        <div className="tl-workers">
          <p className="empty">
            {shown?.key.worker} is shown. Add others to the same time axis, at most {WORKERS_MAX} in
            all:
          </p>
          <div className="tl-scroll-list">
            {others.map(({ name, rank }) => (
              <label key={name} className="option">
                <input
                  type="checkbox"
                  checked={chosen.has(name)}
                  disabled={isFull && !chosen.has(name)}
                  onChange={(event) => toggle(name, event.target.checked)}
                />
                <bdi className="clip grow">{harmless(name, 100)}</bdi>
                {rank === null ? null : <span className="hint">rank {rank}</span>}
              </label>
            ))}
          </div>
          <hr />
          <div className="tl-align">
            <span className="hint">Aligned by</span>
            <Segmented
              label="Aligned by"
              value={link.alignment}
              options={ALIGNMENT_WORDS}
              onChange={(alignment) => change({ alignment: oneOf(ALIGNMENTS, alignment) })}
            />
          </div>
          {alignmentNote === "" ? null : <p className="empty">{alignmentNote}</p>}
        </div>
      )}
    </Popover>
  );
}
