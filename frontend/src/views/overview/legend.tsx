/**
 * Swatch, name and value of each part, on one line. Hover highlights, a click isolates.
 *
 * Parts of no length are left out. Those too short for the unit, and those that do not fit, stand
 * behind a button.
 */
import { useState } from "react";
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
  /** Of the line, in px. */
  readonly width?: number;
  /** Key of the part that is singled out. */
  readonly active: string | null;
  readonly onActive: (key: string | null) => void;
}

const MOST = 7;
/** So wide is a usual entry. */
const ENTRY_WIDTH = 170;

/** As many parts as a line of this width takes; seven where it is not known. */
const mostIn = (width: number) =>
  width === 0 ? MOST : Math.min(MOST, Math.max(2, Math.floor(width / ENTRY_WIDTH)));

const isZero = (value: string | null) => value !== null && !/[1-9<]/.test(value);

export function Legend({ entries, unit, note = null, width = 0, active, onActive }: LegendProps) {
  const [isWhole, setWhole] = useState(false);
  const there = entries.filter(({ value }) => !isZero(value));
  const long = there.filter(({ value }) => !value?.startsWith("<"));
  const most = mostIn(width);
  // One more entry is shorter than the button that would hide it.
  const first = long.length > most + 1 ? long.slice(0, most) : long.length > 0 ? long : there;
  const isCut = first.length < there.length;
  const shown = isWhole ? there : first;
  if (there.length === 0) {
    return null;
  }
  return (
    <ul className="legend">
      {shown.map((entry, place) => (
        <li key={entry.key}>
          <button
            type="button"
            className="entry"
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
            {entry.value === null ? null : <b>{entry.value}</b>}
          </button>
          {unit !== undefined && place === shown.length - 1 ? (
            <span className="dim unit">{unit}</span>
          ) : null}
        </li>
      ))}
      {isCut ? (
        <li>
          <button
            type="button"
            className="entry link"
            aria-expanded={isWhole}
            onClick={() => setWhole(!isWhole)}
          >
            {isWhole ? "fewer" : `${there.length - first.length} more`}
          </button>
        </li>
      ) : null}
      {note === null ? null : <li className="dim">{note}</li>}
    </ul>
  );
}
