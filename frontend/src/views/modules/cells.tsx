/** How the Module view draws some of its columns. */
import type { ModuleRow } from "../../api/types.gen";
import { count, inScaleOrZero, type Scale, time, timeScale } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { ViewLink } from "../../components/controls/view_link";
import type { Cells } from "../../components/data_table/declared";
import type { Column } from "../../components/data_table/table";
import { isFolded } from "./tree";

const PHASES = [
  ["forward", "forward_ns"],
  ["backward", "backward_ns"],
  ["recompute", "recompute_ns"],
] as const;

/** Forward, backward and what is computed again, as parts of a bar. */
export function PhaseBar({ row, most }: { row: ModuleRow; most: number }) {
  const words = PHASES.map(([name, key]) => `${name} ${time(row[key])}`).join(", ");
  return (
    <span className="phase-bar" role="img" aria-label={words} title={words}>
      {PHASES.map(([name, key]) => (
        <i
          key={name}
          className={`phase ${name}`}
          style={{ width: `${most > 0 ? (row[key] / most) * 100 : 0}%` }}
        />
      ))}
    </span>
  );
}

/** The colours of the bar in words. */
export function PhaseLegend({ rows }: { rows: readonly ModuleRow[] }) {
  const used = PHASES.filter(([, key]) => rows.some((row) => row[key] > 0));
  return used.length < 2 ? null : (
    <span className="phase-legend">
      {used.map(([name]) => (
        <span key={name}>
          <i className={`phase ${name}`} aria-hidden="true" />
          {name === "recompute" ? "computed again in backward" : name}
        </span>
      ))}
    </span>
  );
}

/** Two times, the unit once where it is the same: `3.47 to 4.15 ms`. */
export function spanOf(least: string, most: string): string {
  const [number, unit] = least.split("\u00a0");
  return `${unit === most.split("\u00a0")[1] ? number : least} to ${most}`;
}

/** How many siblings a row stands for, and how equal they are. */
function Spread({ row }: { row: ModuleRow }) {
  const [least, most] = [row.least_ns ?? 0, row.most_ns ?? 0];
  const outlier = row.outlier === null ? "" : `, outlier ${harmless(row.outlier)}`;
  const span = least === most ? `${time(least)} each` : spanOf(time(least), time(most));
  const words = `${span}${outlier}`;
  return (
    <>
      {" "}
      <span className="chip" title={`${words}, median ${time(row.median_ns ?? 0)}`}>
        × {count(row.members)}
      </span>{" "}
      <span className="dim spread">{words}</span>
    </>
  );
}

function Name({ row }: { row: ModuleRow }) {
  const isTyped = row.type !== "" && !row.name.startsWith(row.type);
  const more = isTyped ? row.type : (row.qualified ?? "");
  const name = <span className="mono">{harmless(row.name)}</span>;
  return (
    <span className="clip" title={harmless(row.path)}>
      {row.slice === null ? (
        name
      ) : (
        <ViewLink
          stem="timeline"
          params={callPlace(row, row.slice)}
          title={`${harmless(row.path)}\nIts longest call, in Trace`}
        >
          {name}
        </ViewLink>
      )}
      {isFolded(row) ? <Spread row={row} /> : <span className="dim"> {harmless(more)}</span>}
    </span>
  );
}

/** The longest call of a module on the timeline, with some of what is around it. */
export function callPlace({ ts, dur_ns }: ModuleRow, slice: number): Record<string, string> {
  const [start, length] = [ts ?? 0, dur_ns ?? 0];
  const margin = Math.max(Math.round(length / 10), 1000);
  return {
    select: String(slice),
    at: `${Math.max(0, start - margin)}-${start + length + margin}`,
  };
}

/** The total of a row, with its phases as a bar. */
function Total({ row, most, children }: { row: ModuleRow; most: number; children: string }) {
  return (
    <span className="phase-cell">
      <PhaseBar row={row} most={most} />
      <span>{children}</span>
    </span>
  );
}

/** Times of one thing are all in one unit. */
const ALIKE = ["self_ns", "busy_ns", "forward_ns", "backward_ns", "recompute_ns"] as const;

export function cellsOf(rows: readonly ModuleRow[]): Cells<ModuleRow> {
  const most = Math.max(0, ...rows.map((row) => row.total_ns));
  const scale = timeScale(most);
  const host = timeScale(Math.max(0, ...rows.map((row) => row.host_total_ns)));
  const timeCell = (
    key: keyof ModuleRow,
    { unit, ...rest }: Scale,
  ): Partial<Column<ModuleRow>> => ({
    unit: unit.name,
    cell: (row) => inScaleOrZero(Number(row[key]), { unit, ...rest }),
  });
  return {
    name: { width: 240, grow: 8, cell: (row) => <Name row={row} /> },
    ...Object.fromEntries(ALIKE.map((key) => [key, timeCell(key, scale)])),
    total_ns: {
      unit: scale.unit.name,
      width: 150,
      grow: 2,
      isMain: true,
      cell: (row) => (
        <Total row={row} most={most}>
          {inScaleOrZero(row.total_ns, scale)}
        </Total>
      ),
    },
    compiled: {
      width: 180,
      grow: 6,
      cell: ({ compiled }) =>
        compiled === null ? null : (
          <ViewLink stem="compile" params={{}} title={harmless(compiled, 1500)}>
            {harmless(compiled)}
          </ViewLink>
        ),
    },
    host_total_ns: timeCell("host_total_ns", host),
    host_self_ns: timeCell("host_self_ns", host),
    flops: { width: 96 },
  };
}
