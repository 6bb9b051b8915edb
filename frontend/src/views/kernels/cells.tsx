/** How the Kernel view draws some of its columns. */
import type { GraphRow, KernelQuery, KernelRow } from "../../api/types.gen";
import { DASH } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { ViewLink } from "../../components/controls/view_link";
import { type Cells, timeBar } from "../../components/data_table/declared";
import { CodeName } from "../../components/text/code_name";

/** `[16,7,32]` → `16×7×32`. */
export const launchWords = (text: string | null): string =>
  text === null ? DASH : text.replace(/[[\]\s]/g, "").replaceAll(",", "×");

/** The figures of replays; null: the row of kernels outside of graphs. */
export const graphOf = (row: KernelRow): GraphRow | null => {
  const graph = row as GraphRow;
  return (graph.replays ?? null) === null ? null : graph;
};

export const cellsOf = (rows: readonly KernelRow[], query: KernelQuery): Cells<KernelRow> => ({
  name: {
    width: 170,
    grow: 10,
    cell: (row) =>
      graphOf(row) === null ? (
        <CodeName name={row.name} short={row.short} />
      ) : (
        <ViewLink stem="kernels" params={{ graph: row.key }} title="Its replays and nodes">
          {harmless(row.name)}
        </ViewLink>
      ),
    ...(query.group_by === "graph" ? { width: 120, grow: 2 } : {}),
  },
  grid: { cell: (row) => launchWords(row.grid) },
  block: { cell: (row) => launchWords(row.block) },
  kernel_class: {
    width: 96,
    cell: (row) => <span title={row.class_why}>{row.kernel_class}</span>,
  },
  total_ns: timeBar(rows, "total_ns"),
  ratio: { isMain: true },
  tensor_core: {
    cell: ({ tensor_core: use }) =>
      use === "yes" ? (
        <span className="chip">yes</span>
      ) : (
        <span className="dim">{use === "none" ? DASH : use}</span>
      ),
  },
});
