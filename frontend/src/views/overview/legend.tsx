/** Swatch, name and value of each part. Hover highlights, a click isolates. */
import { Swatch } from "../../components/charts/category";
import type { PartKind } from "./parts";

export interface LegendEntry extends PartKind {
  /** Without unit; null = the chart beside has no single value. */
  readonly value: string | null;
}

interface LegendProps {
  readonly entries: readonly LegendEntry[];
  /** Behind the last value: it never begins a line alone. */
  readonly unit?: string;
  /** Said once at the end: how to read the swatches. */
  readonly note?: string | null;
  /** Key of the part that is singled out. */
  readonly active: string | null;
  readonly onActive: (key: string | null) => void;
}

const isZero = (value: string | null) => value !== null && !/[1-9<]/.test(value);

export function Legend({ entries, unit, note = null, active, onActive }: LegendProps) {
  return (
    <ul className="legend">
      {entries.map((entry, place) => (
        <li key={entry.key}>
          <button
            type="button"
            className={`entry ${isZero(entry.value) ? "dim" : ""}`}
            title={entry.help}
            aria-pressed={active === entry.key}
            onClick={() => onActive(active === entry.key ? null : entry.key)}
            onKeyDown={(event) => {
              if (event.key === "Escape" && active !== null) {
                event.preventDefault();
                onActive(null);
              }
            }}
          >
            <Swatch category={entry.category} ghost={entry.ghost} />
            {entry.label}
            {entry.value === null ? null : <b>{isZero(entry.value) ? "0" : entry.value}</b>}
          </button>
          {unit !== undefined && place === entries.length - 1 ? (
            <span className="dim unit">{unit}</span>
          ) : null}
        </li>
      ))}
      {note === null ? null : <li className="dim">{note}</li>}
    </ul>
  );
}
