/** Swatch, name and value of each part. Hover highlights, a click isolates. */
import { Swatch } from "../../components/charts/category";
import type { PartKind } from "./parts";

export interface LegendEntry extends PartKind {
  /** Without unit; null = the chart beside has no single value. */
  readonly value: string | null;
}

interface LegendProps {
  readonly entries: readonly LegendEntry[];
  /** Said once at the end: the unit of the values, or how to read the swatches. */
  readonly note: string | null;
  /** Key of the part that is singled out. */
  readonly active: string | null;
  readonly onActive: (key: string | null) => void;
}

const isZero = (value: string | null) => value !== null && !/[1-9<]/.test(value);

export function Legend({ entries, note, active, onActive }: LegendProps) {
  return (
    <ul className="legend">
      {entries.map((entry) => (
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
        </li>
      ))}
      {note === null ? null : <li className="dim">{note}</li>}
    </ul>
  );
}
