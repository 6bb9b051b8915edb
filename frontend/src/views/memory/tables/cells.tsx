/** How both tables draw some of their columns. */
import type { Memory, MemoryEventRow, StatisticsRow } from "../../../api/types.gen";
import { bytes, DASH, inScale, timeScale } from "../../../base/text/format";
import { harmless } from "../../../base/text/shown_name";
import { CellBar } from "../../../components/charts/cell_bar";
import type { Cells } from "../../../components/data_table/declared";
import { CodeName } from "../../../components/text/code_name";
import type { TimeRange } from "../choice";
import { layerToken } from "../colors";
import { frameWords, Line, moduleName } from "../line";
import { afterWords, beforeWords } from "./sizes";

/** What stands for the name of an op where there was none. */
const OUTSIDE = "(outside of ops)";
const NO_STACK = "(without a stack)";

/** An op, or in a memory snapshot a line of code. */
const ownerName = (name: string, isLine: boolean) =>
  name === "" ? (
    <span className="dim">{isLine ? NO_STACK : OUTSIDE}</span>
  ) : isLine ? (
    <span className="clip" title={harmless(name)}>
      <CodeName name={frameWords(name, true)} />
    </span>
  ) : (
    <CodeName name={name} />
  );

const none = <span className="dim">{DASH}</span>;

export function eventCells(
  rows: readonly MemoryEventRow[],
  range: TimeRange,
  { categories: labels, is_snapshot: isLine }: Pick<Memory, "categories" | "is_snapshot">,
): Cells<MemoryEventRow> {
  const most = rows.reduce((largest, row) => Math.max(largest, row.bytes), 0);
  const scale = timeScale(range.end);
  return {
    name: {
      width: 190,
      grow: 4,
      cell: (row) => (
        <>
          {ownerName(row.name, isLine)}
          {row.module === "" ? null : (
            <span className="detail" title={harmless(row.module)}>
              {harmless(moduleName(row.module), 80)}
            </span>
          )}
        </>
      ),
    },
    bytes: {
      width: 84,
      cell: (row) => (
        <CellBar value={row.bytes} most={most} color={`var(${layerToken(row.category, 0)})`}>
          {bytes(row.bytes)}
        </CellBar>
      ),
    },
    allocated_ns: {
      unit: scale.unit.name,
      width: 96,
      cell: (row) =>
        row.allocated_ns === null ? (
          <span className="dim">{beforeWords(row)}</span>
        ) : (
          inScale(row.allocated_ns, scale)
        ),
    },
    released_ns: {
      unit: scale.unit.name,
      width: 92,
      cell: (row) =>
        row.released_ns === null ? (
          <span className="dim">{afterWords(row, range)}</span>
        ) : (
          inScale(row.released_ns, scale)
        ),
    },
    alive_ns: { width: 70 },
    category: {
      width: 96,
      cell: (row) => (
        <>
          <i className="swatch" style={{ background: `var(${layerToken(row.category, 0)})` }} />{" "}
          {labels[row.category] ?? row.category}
        </>
      ),
    },
    module: { cell: (row) => (row.module === "" ? none : harmless(moduleName(row.module), 80)) },
    line: {
      width: 140,
      grow: 2,
      cell: (row) => (row.line === "" ? none : <Line text={row.line} />),
    },
  };
}

const increase = (key: "increase_bytes" | "self_increase_bytes") => ({
  cell: (row: StatisticsRow) => (
    <span className={row[key] < 0 ? "dim" : ""}>{bytes(row[key])}</span>
  ),
});

export const statisticsCells = (isLine: boolean): Cells<StatisticsRow> => ({
  name: { width: 150, grow: 4, cell: (row) => ownerName(row.name, isLine) },
  increase_bytes: increase("increase_bytes"),
  self_increase_bytes: increase("self_increase_bytes"),
});
