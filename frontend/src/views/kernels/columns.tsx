/** The columns of the kernel table. */
import type { ReactNode } from "react";
import type { GraphFigures, KernelQuery, KernelRow } from "../../api/types.gen";
import { bytes, count, DASH, fixed, inScale, share, time, timeScale } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { CellBar } from "../../components/charts/cell_bar";
import { ViewLink } from "../../components/controls/view_link";
import { type Column, numberColumn } from "../../components/data_table/table";
import { CodeName } from "../../components/text/code_name";

const none = <span className="dim">{DASH}</span>;
function known<Value>(value: Value | null, words: (value: Value) => ReactNode): ReactNode {
  return value === null ? none : words(value);
}

const CORES = { yes: "yes", no: "no", unknown: "unknown", none: DASH } as const;

/** `[16,7,32]` → `16×7×32`. */
export const launchWords = (text: string | null): string =>
  text === null ? DASH : text.replace(/[[\]\s]/g, "").replaceAll(",", "×");

type KernelColumn = Column<KernelRow>;

const text = (
  key: string,
  head: string,
  cell: KernelColumn["cell"],
  more: Partial<KernelColumn> = {},
): KernelColumn => ({ key, head, width: 80, cell, ...more });

/** What all columns of the row's group have beside the figures. */
function facts(query: KernelQuery): readonly KernelColumn[] {
  switch (query.group_by) {
    case "class":
      return [];
    case "properties":
      return [
        text("op", "Operator", (row) => (row.op === null ? none : <CodeName name={row.op} />)),
        text("grid", "Grid", (row) => launchWords(row.grid)),
        text("block", "Block", (row) => launchWords(row.block)),
        text("op_eligible", "Op eligible", (row) =>
          known(row.op_eligible, (isEligible) => (isEligible ? "yes" : "no")),
        ),
      ];
    default:
      return [
        text(
          "kernel_class",
          "Class",
          (row) => <span title={row.class_why}>{row.kernel_class}</span>,
          { width: 96 },
        ),
      ];
  }
}

/** Columns that only some recordings can fill: they are there if a row has a value. */
const IF_KNOWN: readonly KernelColumn[] = [
  numberColumn("blocks_per_sm", "Blocks per SM", (row) =>
    known(row.blocks_per_sm, (v) => fixed(v, 2)),
  ),
  numberColumn("occupancy", "Est. occupancy", (row) =>
    known(row.occupancy, (v) => `${fixed(v, 0)} %`),
  ),
  numberColumn("launch_ns", "Launch", (row) => known(row.launch_ns, time)),
  numberColumn("queue_ns", "Queue", (row) => known(row.queue_ns, time)),
  numberColumn("energy_j", "Energy", (row) => known(row.energy_j, joules)),
  numberColumn("power_w", "Power", (row) => known(row.power_w, (v) => fixed(v, 0)), { unit: "W" }),
  numberColumn("sm_clock_mhz", "SM clock", (row) => known(row.sm_clock_mhz, (v) => fixed(v, 0)), {
    unit: "MHz",
  }),
  numberColumn("sm_active_percent", "SM active", (row) =>
    known(row.sm_active_percent, (v) => `${fixed(v, 0)} %`),
  ),
  numberColumn("dram_percent", "DRAM", (row) =>
    known(row.dram_percent, (v) => (
      <>
        {fixed(v, 0)} % {row.memory_bound ? <span className="chip">bound</span> : null}
      </>
    )),
  ),
];

/** Energy in the unit that gives three digits. */
export const joules = (value: number): string =>
  value === 0 || value >= 1 ? `${value.toPrecision(3)} J` : `${(value * 1000).toPrecision(3)} mJ`;

const RESOURCES: readonly KernelColumn[] = [
  text("registers", "Registers", (row) => known(row.registers, count), { isNumeric: true }),
  text("shared_bytes", "Shared", (row) => known(row.shared_bytes, bytes), { isNumeric: true }),
];

const ofGraph = (
  row: KernelRow,
  words: (graph: NonNullable<KernelRow["graph"]>) => ReactNode,
): ReactNode => (row.graph === null ? none : words(row.graph));

/** What rows take in all, with a bar, and their share of it. */
export function timeColumns<R extends { readonly total_ns: number; readonly ratio: number }>(
  rows: readonly R[],
  head: string,
): readonly Column<R>[] {
  const most = Math.max(0, ...rows.map((row) => row.total_ns));
  const scale = timeScale(most);
  return [
    numberColumn(
      "total_ns",
      head,
      (row) => (
        <CellBar value={row.total_ns} most={most} category="compute">
          {inScale(row.total_ns, scale)}
        </CellBar>
      ),
      { unit: scale.unit.name, width: 100, grow: 1.5, isMain: true },
    ),
    numberColumn("ratio", "Share", (row) => share(row.ratio), { isMain: true }),
  ];
}

/** Graphs by their replays; the row of what is outside of graphs has kernels only. */
function graphColumns(rows: readonly KernelRow[]): readonly KernelColumn[] {
  const replay = (key: keyof GraphFigures, head: string) =>
    numberColumn<KernelRow>(key, head, (row) =>
      ofGraph(row, (graph) => known(graph[key] as number | null, time)),
    );
  return [
    text(
      "name",
      "Graph",
      (row) =>
        row.graph === null ? (
          row.name
        ) : (
          <ViewLink stem="kernels" params={{ graph: row.key }} title="Its replays and nodes">
            {harmless(row.name)}
          </ViewLink>
        ),
      { sort: true, width: 120, grow: 2 },
    ),
    text("batch", "Batch", (row) =>
      ofGraph(row, ({ batch }) => (batch === "" ? none : harmless(batch))),
    ),
    numberColumn("replays", "Replays", (row) => ofGraph(row, (graph) => count(graph.replays))),
    numberColumn("nodes", "Nodes", (row) => ofGraph(row, (graph) => count(graph.nodes))),
    replay("node_ns", "Per node"),
    replay("replay_min_ns", "Replay min"),
    replay("replay_p50_ns", "Median"),
    replay("replay_p95_ns", "p95"),
    replay("replay_max_ns", "Max"),
    replay("inside_idle_ns", "Idle inside"),
    numberColumn("calls", "Kernels", (row) => count(row.calls)),
    ...timeColumns(rows, "Kernel time"),
  ];
}

export function columnsOf(
  rows: readonly KernelRow[],
  query: KernelQuery,
  coresName: string,
): readonly KernelColumn[] {
  if (query.group_by === "graph") {
    return graphColumns(rows);
  }
  const isKnown = ({ key }: KernelColumn) =>
    rows.some((row) => row[key as keyof KernelRow] !== null);
  return [
    text(
      "name",
      query.group_by === "class" ? "Class" : "Kernel",
      (row) => <CodeName name={row.name} />,
      { sort: true, width: 170, grow: 10 },
    ),
    ...facts(query),
    numberColumn("calls", "Calls", (row) => count(row.calls)),
    ...timeColumns(rows, "Total"),
    numberColumn("mean_ns", "Mean", (row) => time(row.mean_ns)),
    numberColumn("min_ns", "Min", (row) => time(row.min_ns)),
    numberColumn("p50_ns", "Median", (row) => time(row.p50_ns)),
    numberColumn("p95_ns", "p95", (row) => time(row.p95_ns)),
    numberColumn("max_ns", "Max", (row) => time(row.max_ns)),
    ...IF_KNOWN.filter(isKnown),
    ...(query.group_by === "properties" ? RESOURCES : []),
    text("tensor_core", coresName, (row) =>
      row.tensor_core === "yes" ? (
        <span className="chip">yes</span>
      ) : (
        <span className="dim">{CORES[row.tensor_core]}</span>
      ),
    ),
  ];
}
