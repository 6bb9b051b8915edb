/** The columns of the tree of modules. */
import type { ReactNode } from "react";
import type { ModuleRow, Modules } from "../../api/types.gen";
import { bytes, count, DASH, flops, inScale, share, time, timeScale } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { ViewLink } from "../../components/controls/view_link";
import { type Column, numberColumn } from "../../components/data_table/table";
import { isFolded, type SeenRow } from "./tree";

const PHASES = [
  ["forward", "forward_ns"],
  ["backward", "backward_ns"],
  ["recompute", "recompute_ns"],
] as const;

const none = <span className="dim">{DASH}</span>;
const known = <V,>(value: V | null, words: (value: V) => ReactNode): ReactNode =>
  value === null ? none : words(value);

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
  return (
    <span className="clip" title={harmless(row.path)}>
      <span className="mono">{harmless(row.name)}</span>
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

type ModuleColumn = Column<SeenRow>;

/** The columns; one that this recording cannot fill is left out. */
export function columnsOf(answer: Modules): readonly ModuleColumn[] {
  const { rows } = answer.table;
  const most = Math.max(0, ...rows.map((row) => row.total_ns));
  const scale = timeScale(most);
  const host = timeScale(Math.max(0, ...rows.map((row) => row.host_total_ns)));
  const figure = (
    key: keyof ModuleRow & string,
    head: string,
    words: (value: number) => string,
    unit?: string,
  ): ModuleColumn =>
    numberColumn(
      key,
      head,
      ({ row }) => known(row[key] as number | null, (value) => (value === 0 ? none : words(value))),
      unit === undefined ? {} : { unit },
    );
  const inMost = (ns: number) => inScale(ns, scale);
  const inHost = (ns: number) => inScale(ns, host);
  const has = (key: keyof ModuleRow) => rows.some((row) => row[key] !== null);
  const isUsed = (key: keyof ModuleRow) => rows.some((row) => Number(row[key]) > 0);
  return [
    {
      key: "name",
      head: "Module",
      width: 240,
      grow: 8,
      sort: true,
      cell: ({ row }) => <Name row={row} />,
    },
    figure("calls", "Calls", count),
    figure("ops", "Operators", count),
    {
      key: "phases",
      head: answer.time === "device" ? "Device time" : "Time of ops",
      help: "The total of the row, in parts: forward, backward, computed again in backward.",
      width: 90,
      grow: 2,
      cell: ({ row }) => <PhaseBar row={row} most={most} />,
    },
    figure("total_ns", "Total", inMost, scale.unit.name),
    figure("self_ns", "Self", inMost, scale.unit.name),
    ...(has("busy_ns") ? [figure("busy_ns", "Busy", inMost, scale.unit.name)] : []),
    figure("forward_ns", "Forward", inMost, scale.unit.name),
    ...(isUsed("backward_ns") ? [figure("backward_ns", "Backward", inMost, scale.unit.name)] : []),
    ...(isUsed("recompute_ns")
      ? [figure("recompute_ns", "Recompute", inMost, scale.unit.name)]
      : []),
    figure("ratio", "Share", share),
    figure("host_total_ns", "Host total", inHost, host.unit.name),
    figure("host_self_ns", "Host self", inHost, host.unit.name),
    ...(has("idle_ns") ? [figure("idle_ns", "Idle before", time)] : []),
    ...(isUsed("flops") ? [{ ...figure("flops", "FLOPs", flops), width: 96 }] : []),
    ...(has("born_bytes") ? [figure("born_bytes", "Allocated", bytes)] : []),
    ...(has("kept_bytes") ? [figure("kept_bytes", "Kept", bytes)] : []),
    {
      key: "slice",
      head: "Trace",
      help: "Leads to the longest call.",
      width: 56,
      grow: 0,
      cell: ({ row }) =>
        known(row.slice, (slice) => (
          <ViewLink
            stem="timeline"
            params={callPlace(row, slice)}
            title="The longest call, in the Trace view"
          >
            Show
          </ViewLink>
        )),
    },
  ];
}
