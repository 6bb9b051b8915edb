/** Every slice of the area, one by one: sorted and filtered by the server, fetched as it is scrolled. */

import { useState } from "react";
import type { RowsQuery, SliceRow } from "../../../api/types.gen";
import { kindWord } from "../../../base/style/kind_hues";
import { plainTable } from "../../../base/text/delimited";
import { plural, time } from "../../../base/text/format";
import { harmless } from "../../../base/text/shown_name";
import { CopyTable } from "../../../components/controls/copy_table";
import { SearchField } from "../../../components/controls/search_field";
import { type Sorting, useWindows } from "../../../components/data_table/rows";
import { type Column, DataTable, numberColumn } from "../../../components/data_table/table";
import { ProblemNote } from "../../../components/states/problem_note";
import { useSettled } from "../../../state/timing";
import { stepTitle } from "../ruler/ruler";
import { useTimelineContext } from "../state/context";
import { type Scope, scopeQuery } from "../state/range";
import { KindName } from "../tracks/kinds";

function columnsOf({ source }: Scope): readonly Column<SliceRow>[] {
  const { tracks, steps } = source.manifest;
  return [
    {
      key: "name",
      head: "Name",
      help: "Name of the slice, and the colour of its kind.",
      width: 160,
      grow: 4,
      sort: true,
      cell: (row) => <KindName kind={row.kind} name={row.name} />,
    },
    numberColumn("ts", "Start", (row) => time(row.ts), {
      width: 104,
      help: "From the start of the trace",
    }),
    numberColumn("dur", "Duration", (row) => time(row.dur), {
      width: 84,
      help: "From its start to its end, whole, even where it reaches out of the area.",
    }),
    numberColumn("self", "Self", (row) => time(row.self_ns), {
      width: 84,
      help: "Time that nothing inside it covers.",
    }),
    {
      key: "track",
      head: "Track",
      help: "The thread, stream or series that it is drawn on.",
      width: 120,
      grow: 2,
      cell: (row) => <bdi>{harmless(tracks[row.track]?.label ?? "", 80)}</bdi>,
    },
    {
      key: "step",
      head: "Step",
      help: "The step in which it began.",
      width: 80,
      cell: (row) => {
        const step = steps.find(({ index }) => index === row.step);
        return step === undefined ? "" : stepTitle(step);
      },
    },
  ];
}

const plainOf = ({ source }: Scope) =>
  plainTable<SliceRow>([
    "slice",
    "name",
    ["kind", ({ kind }) => kindWord(kind)],
    ["track", ({ track }) => source.manifest.tracks[track]?.label ?? null],
    ["ts_ns", ({ ts }) => ts],
    ["dur_ns", ({ dur }) => dur],
    "self_ns",
    "step",
  ]);

export function AreaSlices({ scope }: { scope: Scope }) {
  const { link, selection, actions } = useTimelineContext();
  const [typed, setText] = useState("");
  const text = useSettled(typed);
  const [sorting, setSorting] = useState<Sorting>({ key: "ts", isDown: false });
  const query = {
    ...scopeQuery(scope),
    text,
    sort: `${sorting.isDown ? "-" : ""}${sorting.key}` as NonNullable<RowsQuery["sort"]>,
    layout: link.layout,
  };
  const { rows, fetched, isOld, problem, again } = useWindows(
    "timeline/rows",
    scope.source,
    scope.isBare ? null : query,
  );
  const toPlain = plainOf(scope);
  if (problem !== null) {
    return <ProblemNote problem={problem} again={again} />;
  }
  return (
    <>
      <div className="tool-row">
        <SearchField
          words="Filter by name"
          label="Filter the slices by name"
          value={typed}
          onChange={setText}
        />
        <span className="hint grow">
          {isOld && rows.count === 0 ? "" : plural(rows.count, "slice")}
          {rows.count > fetched.length ? ", fetched as you scroll" : ""}
        </span>
        <CopyTable label="the fetched slices" table={() => toPlain(fetched)} />
      </div>
      <DataTable
        label="Slices"
        columns={columnsOf(scope)}
        rows={rows}
        keyOf={(row) => row.slice}
        sorting={sorting}
        onSort={setSorting}
        onChoose={(row) => actions.goToId(scope.source, row.slice)}
        isChosen={(row) => selection?.key.slice === row.slice && selection.source === scope.source}
        toPlain={toPlain}
        empty={text === "" ? "Nothing ran here." : "No slice of that name here."}
        isOld={isOld}
      />
    </>
  );
}
