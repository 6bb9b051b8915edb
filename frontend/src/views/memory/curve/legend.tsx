/** What the layers are, what each comes to, and how sure that is. A click singles one out. */
import type { CategoryShare, MemoryCurve } from "../../../api/types.gen";
import { bytes, DASH, time } from "../../../base/text/format";
import { harmless } from "../../../base/text/shown_name";
import { type Cell, useCell } from "../../../state/cell";
import { layerToken } from "../colors";
import { moduleName, useFrameWords } from "../line";
import { pointAt } from "./frame";

interface LegendProps {
  readonly curve: MemoryCurve;
  /** How sure each category is. */
  readonly shares: readonly CategoryShare[];
  readonly active: string | null;
  readonly onActive: (key: string | null) => void;
  readonly cursor: Cell<number | null>;
}

const NAME_MOST = 28;

export function CurveLegend({ curve, shares, active, onActive, cursor }: LegendProps) {
  const pointed = useCell(cursor);
  const words = useFrameWords();
  const instant = pointed ?? curve.peak_ns;
  const at = pointAt(curve.ts, instant);
  const entries = curve.layers.map((layer, place) => ({ ...layer, place })).reverse();
  const isDivided = entries.length > 0;
  return (
    <div className="mem-legend">
      <p className="hint nowrap" aria-live="off">
        {pointed === null ? "At the peak" : `At ${time(instant)}`}
        {": "}
        <b>{bytes(curve.allocated[at] ?? 0)}</b>
      </p>
      <ul className="legend">
        {entries.map(({ key, label, values, place }) => {
          const share = shares.find(({ category }) => category === key);
          return (
            <li key={key}>
              <button
                type="button"
                className="entry"
                title={
                  share === undefined
                    ? harmless(label)
                    : `${share.why} Confidence: ${share.confidence}.`
                }
                aria-pressed={active === key}
                onClick={() => onActive(active === key ? null : key)}
              >
                <i className="swatch" style={{ background: `var(${layerToken(key, place)})` }} />
                {harmless(words(moduleName(label)), NAME_MOST)} <b>{bytes(values[at] ?? 0)}</b>
                {share === undefined || share.confidence === "high" ? null : (
                  <span className="dim">{share.confidence}</span>
                )}
              </button>
            </li>
          );
        })}
        {isDivided ? null : (
          <li>
            <span className="entry">
              <i className="swatch mem-total" />
              {curve.is_change ? "Change since the recording began" : "Allocated"}{" "}
              <b>{bytes(curve.allocated[at] ?? 0)}</b>
            </span>
          </li>
        )}
        {curve.reserved === null ? null : (
          <li>
            <span className="entry">
              <i className="mem-dashes" />
              Reserved <b>{curve.reserved[at] === undefined ? DASH : bytes(curve.reserved[at])}</b>
            </span>
          </li>
        )}
        {shares.length > 0 && isDivided ? (
          <li className="dim">Confidence: high unless marked.</li>
        ) : null}
      </ul>
    </div>
  );
}
