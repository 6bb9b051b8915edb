/** All slices of the area by name. */

import { useMemo } from "react";
import type { AreaAnswer, AreaRow } from "../../../api/types.gen";
import { kindWord } from "../../../base/style/kind_hues";
import { plainTable } from "../../../base/text/delimited";
import { count, DASH, plural, share, time } from "../../../base/text/format";
import { CellBar } from "../../../components/charts/cell_bar";
import { CopyTable } from "../../../components/controls/copy_table";
import { useSorted } from "../../../components/data_table/rows";
import { type Column, DataTable, numberColumn } from "../../../components/data_table/table";
import { type TimelineContext, useTimelineContext } from "../state/context";
import type { Scope } from "../state/range";
import { KindName } from "../tracks/kinds";

const toPlain = plainTable<AreaRow>([
  ["name", ({ text }) => text],
  ["kind", ({ kind }) => kindWord(kind)],
  "count",
  "total_ns",
  "self_ns",
  "share",
  "min_ns",
  "mean_ns",
  "p50_ns",
  "p95_ns",
  "max_ns",
]);

/** The keys of a row whose values are numbers. */
type Figure = {
  [K in keyof AreaRow]: AreaRow[K] extends number | null ? K : never;
}[keyof AreaRow];

function figure(
  key: Figure,
  head: string,
  cell: Column<AreaRow>["cell"],
  more: Partial<Column<AreaRow>> = {},
): Column<AreaRow> {
  return numberColumn(key, head, cell, { sort: (row) => row[key], width: 72, ...more });
}

function columnsOf(
  { palette, actions }: TimelineContext,
  { source }: Scope,
  most: number,
): readonly Column<AreaRow>[] {
  return [
    {
      key: "name",
      head: "Name",
      help: "Slices of one name and kind are one row.",
      width: 160,
      grow: 5,
      sort: ({ text }) => text,
      cell: (row) => <KindName kind={row.kind} name={row.text} />,
    },
    figure("count", "Count", (row) => count(row.count), {
      help: "Number of slices in the area.",
    }),
    figure(
      "total_ns",
      "Total",
      (row) => (
        <CellBar value={row.total_ns} most={most} color={palette.kinds[row.kind]?.fills[0]}>
          {time(row.total_ns)}
        </CellBar>
      ),
      { width: 96, grow: 2, help: "Sum of their lengths; of one inside another both count." },
    ),
    figure("share", "Share of area", (row) => (row.share === null ? DASH : share(row.share)), {
      help: "The total, of the length of the area.",
    }),
    figure("self_ns", "Self", (row) => time(row.self_ns), {
      help: "Time that nothing inside it covers",
    }),
    figure("min_ns", "Min", (row) => time(row.min_ns), { help: "The shortest." }),
    figure("mean_ns", "Mean", (row) => time(row.mean_ns), { help: "Total by count." }),
    figure("p50_ns", "p50", (row) => time(row.p50_ns), { help: "Half of them are shorter" }),
    figure("p95_ns", "p95", (row) => time(row.p95_ns), { help: "19 of 20 are shorter" }),
    figure(
      "max_ns",
      "Max",
      (row) => (
        <button
          type="button"
          className="link"
          tabIndex={-1}
          title="Go to the longest"
          onClick={(event) => {
            event.stopPropagation();
            actions.goToId(source, row.longest);
          }}
        >
          {time(row.max_ns)}
        </button>
      ),
      { help: "The longest; leads to it." },
    ),
  ];
}

export function AreaSummary({ answer, scope }: { answer: AreaAnswer; scope: Scope }) {
  const timeline = useTimelineContext();
  const { rows, row_count } = answer;
  const columns = useMemo(() => {
    const most = Math.max(0, ...rows.map((row) => row.total_ns));
    return columnsOf(timeline, scope, most);
  }, [timeline, scope, rows]);
  const sorted = useSorted(rows, columns, { key: "total_ns", isDown: true });
  const { link, actions } = timeline;
  return (
    <>
      <div className="tool-row hint">
        <span className="grow clip">
          {plural(row_count, "name")}
          {row_count > rows.length ? `, the ${count(rows.length)} largest are listed` : ""} ·{" "}
          {plural(answer.slices, "slice")}, {time(answer.total_ns)} in all, each nested slice
          counted too
        </span>
        <CopyTable label="the summary" table={() => toPlain(sorted.rows)} />
      </div>
      <DataTable
        label="Slices by name"
        columns={columns}
        {...sorted}
        keyOf={(row) => row.name}
        onChoose={(row) => actions.find(row.text, "exact")}
        isChosen={(row) => link.match === "exact" && row.text === link.find}
        toPlain={toPlain}
        empty={scope.isBare ? "The area covers no track with slices." : "Nothing ran here."}
      />
    </>
  );
}
