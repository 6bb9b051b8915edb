/** The columns of both tables, and the same as text in base units. */
import type { Memory, MemoryEventRow, StatisticsRow } from "../../../api/types.gen";
import { plainTable } from "../../../base/text/delimited";
import { bytes, count, DASH, inScale, time, timeScale } from "../../../base/text/format";
import { harmless } from "../../../base/text/shown_name";
import { CellBar } from "../../../components/charts/cell_bar";
import { type Column, numberColumn } from "../../../components/data_table/table";
import { CodeName } from "../../../components/text/code_name";
import type { TimeRange } from "../choice";
import { layerToken } from "../colors";
import { Line, moduleName, withoutFolders } from "../line";
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
      <CodeName name={withoutFolders(name)} />
    </span>
  ) : (
    <CodeName name={name} />
  );

/** What allocates, at the head of a table. */
export const ownerHead = (isLine: boolean) => (isLine ? "Line of code" : "Operator");

const none = <span className="dim">{DASH}</span>;

export function eventColumns(
  rows: readonly MemoryEventRow[],
  range: TimeRange,
  { categories: labels, is_snapshot: isLine }: Pick<Memory, "categories" | "is_snapshot">,
): readonly Column<MemoryEventRow>[] {
  const most = rows.reduce((largest, row) => Math.max(largest, row.bytes), 0);
  const scale = timeScale(range.end);
  return [
    {
      key: "name",
      head: ownerHead(isLine),
      sort: true,
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
    numberColumn(
      "bytes",
      "Size",
      (row) => (
        <CellBar value={row.bytes} most={most} color={`var(${layerToken(row.category, 0)})`}>
          {bytes(row.bytes)}
        </CellBar>
      ),
      { width: 84 },
    ),
    numberColumn(
      "allocated_ns",
      "Allocated",
      (row) =>
        row.allocated_ns === null ? (
          <span className="dim">{beforeWords(row)}</span>
        ) : (
          inScale(row.allocated_ns, scale)
        ),
      { unit: scale.unit.name, width: 96 },
    ),
    numberColumn(
      "released_ns",
      "Released",
      (row) =>
        row.released_ns === null ? (
          <span className="dim">{afterWords(row, range)}</span>
        ) : (
          inScale(row.released_ns, scale)
        ),
      { unit: scale.unit.name, width: 92 },
    ),
    numberColumn(
      "alive_ns",
      "Alive",
      (row) => (row.alive_ns === null ? none : time(row.alive_ns)),
      {
        width: 70,
      },
    ),
    {
      key: "category",
      head: "Category",
      sort: true,
      width: 96,
      cell: (row) => (
        <>
          <i className="swatch" style={{ background: `var(${layerToken(row.category, 0)})` }} />{" "}
          {labels[row.category] ?? row.category}
        </>
      ),
    },
    {
      key: "line",
      head: "Line",
      width: 140,
      grow: 2,
      cell: (row) => (row.line === "" ? none : <Line text={row.line} />),
    },
  ];
}

const ownerKey = (isLine: boolean) => (isLine ? "line_of_code" : "operator");

export const eventsPlain = (isLine: boolean) =>
  plainTable<MemoryEventRow>([
    [ownerKey(isLine), ({ name }) => name],
    "bytes",
    "allocated_ns",
    "released_ns",
    "alive_ns",
    "life_start_ns",
    "life_end_ns",
    "category",
    "module",
    "line",
  ]);

const signed = (value: number) => <span className={value < 0 ? "dim" : ""}>{bytes(value)}</span>;

export function statisticsColumns(isLine: boolean): readonly Column<StatisticsRow>[] {
  return [
    {
      key: "name",
      head: ownerHead(isLine),
      sort: true,
      width: 150,
      grow: 4,
      cell: (row) => ownerName(row.name, isLine),
    },
    numberColumn("calls", "Calls", (row) => (row.calls === null ? none : count(row.calls))),
    numberColumn("increase_bytes", "Size increase", (row) => signed(row.increase_bytes)),
    numberColumn("self_increase_bytes", "Self size increase", (row) =>
      signed(row.self_increase_bytes),
    ),
    numberColumn("allocations", "Allocations", (row) => count(row.allocations)),
    numberColumn("self_allocations", "Self allocations", (row) => count(row.self_allocations)),
    numberColumn("allocation_bytes", "Allocation size", (row) => bytes(row.allocation_bytes)),
    numberColumn("self_allocation_bytes", "Self allocation size", (row) =>
      bytes(row.self_allocation_bytes),
    ),
  ];
}

export const statisticsPlain = (isLine: boolean) =>
  plainTable<StatisticsRow>([
    [ownerKey(isLine), ({ name }) => name],
    "calls",
    "increase_bytes",
    "self_increase_bytes",
    "allocations",
    "self_allocations",
    "allocation_bytes",
    "self_allocation_bytes",
  ]);
