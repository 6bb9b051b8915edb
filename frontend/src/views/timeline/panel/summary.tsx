/** All slices of the area by name. */

import { useMemo, useState } from "react";
import type { AreaAnswer, AreaRow } from "../../../api/types.gen";
import { KIND, kindWord } from "../../../base/style/kind_hues";
import { plainTable } from "../../../base/text/delimited";
import { count, DASH, plural, share, time } from "../../../base/text/format";
import { CellBar } from "../../../components/charts/cell_bar";
import { CopyTable } from "../../../components/controls/copy_table";
import { Segmented } from "../../../components/controls/segmented";
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
    figure("share", "Self share", (row) => (row.share === null ? DASH : share(row.share)), {
      help: "Its self time, of the self time of all rows shown.",
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

/** Kinds that are compared with each other: what wraps others is a group of its own. */
const GROUPS = [
  [
    "device",
    "Device",
    [KIND.compute, KIND.communication, KIND.memcpy, KIND.memset, KIND.deviceOther],
  ],
  ["host", "Operators", [KIND.op, KIND.runtime, KIND.overhead, KIND.sync, KIND.other]],
  ["python", "Python", [KIND.python, KIND.module]],
  ["ranges", "Ranges", [KIND.annotation, KIND.loader, KIND.deviceAnnotation, KIND.range]],
] as const satisfies readonly (readonly [string, string, readonly number[]])[];
type Group = (typeof GROUPS)[number][0] | "all";

/** The rows of a group, each with its part of the self time of all of them. */
function rowsOfGroup(rows: readonly AreaRow[], group: Group): readonly AreaRow[] {
  const kinds: readonly number[] | undefined = GROUPS.find(([key]) => key === group)?.[2];
  const mine = rows.filter(({ kind }) => kinds?.includes(kind) ?? true);
  const whole = mine.reduce((sum, { self_ns }) => sum + self_ns, 0);
  return mine.map((row) => ({ ...row, share: whole === 0 ? null : row.self_ns / whole }));
}

export function AreaSummary({ answer, scope }: { answer: AreaAnswer; scope: Scope }) {
  const timeline = useTimelineContext();
  const { row_count } = answer;
  const there = GROUPS.filter(([key]) => rowsOfGroup(answer.rows, key).length > 0);
  const [chosen, setGroup] = useState<Group | null>(null);
  const group: Group = chosen ?? there[0]?.[0] ?? "all";
  const rows = useMemo(() => rowsOfGroup(answer.rows, group), [answer.rows, group]);
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
          {row_count > answer.rows.length
            ? `, the ${count(answer.rows.length)} largest are listed`
            : ""}{" "}
          · {plural(answer.slices, "slice")}, {time(answer.total_ns)} in all, each nested slice
          counted too
        </span>
        <Segmented
          label="Kinds of slices"
          options={[...there.map(([key, words]) => [key, words] as const), ["all", "All"]]}
          value={group}
          onChange={setGroup}
        />
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
