/** All slices of the area by name. */

import { useMemo, useState } from "react";
import type { AreaAnswer, AreaRow } from "../../../api/types.gen";
import { kindWord } from "../../../base/style/kind_hues";
import { count, DASH, plural, share, time } from "../../../base/text/format";
import { CopyTable } from "../../../components/controls/copy_table";
import { CodeName } from "../../../components/text/code_name";
import { type TimelineContext, useTimelineContext } from "../state/context";
import type { Scope } from "../state/range";
import { KindSwatch } from "../tracks/kinds";
import { type Column, GridTable, type Sorting } from "./grid_table";

const VALUES: Readonly<Record<string, (row: AreaRow) => number | string>> = {
  name: (row) => row.text,
  count: (row) => row.count,
  total: (row) => row.total_ns,
  self: (row) => row.self_ns,
  share: (row) => row.share ?? -1,
  min: (row) => row.min_ns,
  mean: (row) => row.mean_ns,
  p50: (row) => row.p50_ns,
  p95: (row) => row.p95_ns,
  max: (row) => row.max_ns,
};

function sortedRows(rows: readonly AreaRow[], { column, isDown }: Sorting): readonly AreaRow[] {
  const value = VALUES[column] ?? ((row: AreaRow) => row.total_ns);
  const sign = isDown ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    return sign * (typeof x === "string" ? x.localeCompare(String(y)) : x - Number(y));
  });
}

const toTable = (rows: readonly AreaRow[]) => ({
  header: [
    "name",
    "kind",
    "count",
    "total_ns",
    "self_ns",
    "share",
    "min_ns",
    "mean_ns",
    "p50_ns",
    "p95_ns",
    "max_ns",
  ],
  rows: rows.map((row) => [
    row.text,
    kindWord(row.kind),
    row.count,
    row.total_ns,
    row.self_ns,
    row.share,
    row.min_ns,
    row.mean_ns,
    row.p50_ns,
    row.p95_ns,
    row.max_ns,
  ]),
});

function columnsOf(
  { palette, actions }: TimelineContext,
  scope: Scope,
  longest: number,
): readonly Column<AreaRow>[] {
  const number = (
    key: string,
    header: string,
    width: string,
    cell: Column<AreaRow>["cell"],
    more: Partial<Column<AreaRow>> = {},
  ): Column<AreaRow> => ({ key, header, width, cell, isNumber: true, isSorted: true, ...more });
  return [
    {
      key: "name",
      header: "Name",
      width: "minmax(160px, 3fr)",
      isSorted: true,
      cell: (row) => (
        <span className="tl-named">
          <KindSwatch fill={palette.kinds[row.kind]?.fills[0]} />
          <CodeName name={row.text} />
        </span>
      ),
    },
    number("count", "Count", "72px", (row) => count(row.count)),
    number("total", "Total", "minmax(96px, 190px)", (row) => (
      <span className="tl-cellbar">
        <i
          style={{
            width: `${(row.total_ns / Math.max(1, longest)) * 100}%`,
            background: palette.kinds[row.kind]?.fills[0],
          }}
        />
        <span>{time(row.total_ns)}</span>
      </span>
    )),
    number("share", "Share of area", "96px", (row) =>
      row.share === null ? DASH : share(row.share),
    ),
    number("self", "Self", "76px", (row) => time(row.self_ns), {
      isMinor: true,
      title: "Time that nothing inside it covers",
    }),
    number("min", "Min", "72px", (row) => time(row.min_ns), { isMinor: true }),
    number("mean", "Mean", "72px", (row) => time(row.mean_ns)),
    number("p50", "p50", "72px", (row) => time(row.p50_ns), { title: "Half of them are shorter" }),
    number("p95", "p95", "72px", (row) => time(row.p95_ns), { title: "19 of 20 are shorter" }),
    number("max", "Max", "80px", (row) => (
      <button
        type="button"
        className="link"
        tabIndex={-1}
        title="Go to the longest"
        onClick={(event) => {
          event.stopPropagation();
          actions.goToId(scope.source, row.longest);
        }}
      >
        {time(row.max_ns)}
      </button>
    )),
  ];
}

export function AreaSummary({ answer, scope }: { answer: AreaAnswer; scope: Scope }) {
  const timeline = useTimelineContext();
  const [sorting, setSorting] = useState<Sorting>({ column: "total", isDown: true });
  const { rows, row_count } = answer;
  const sorted = useMemo(() => sortedRows(rows, sorting), [rows, sorting]);
  const longest = Math.max(0, ...rows.map((row) => row.total_ns));
  const columns = columnsOf(timeline, scope, longest);
  const { link, actions } = timeline;
  return (
    <>
      <div className="tl-tools hint">
        <span className="grow clip">
          {plural(row_count, "name")}
          {row_count > rows.length ? `, the ${count(rows.length)} largest are listed` : ""} ·{" "}
          {plural(answer.slices, "slice")}, {time(answer.total_ns)} in all, each nested slice
          counted too
        </span>
        <CopyTable label="the summary" table={() => toTable(sorted)} />
      </div>
      <GridTable
        label="Slices by name"
        columns={columns}
        count={sorted.length}
        rowAt={(index) => sorted[index]}
        keyOf={(row) => row.name}
        sorting={sorting}
        onSort={setSorting}
        onOpen={(row) => actions.find(row.text, "exact")}
        isSelected={(row) => link.match === "exact" && row.text === link.find}
        empty={scope.isBare ? "The area covers no track with slices." : "Nothing ran here."}
      />
    </>
  );
}
