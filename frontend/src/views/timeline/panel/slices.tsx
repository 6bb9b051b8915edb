/** Every slice of the area, one by one: sorted and filtered by the server, fetched as it is scrolled. */

import { useCallback, useState } from "react";
import { toProblem } from "../../../api/problem";
import type { RowsQuery, SliceRow } from "../../../api/types.gen";
import { kindWord } from "../../../base/style/kind_hues";
import { plural, time } from "../../../base/text/format";
import { harmless } from "../../../base/text/shown_name";
import { CopyTable } from "../../../components/controls/copy_table";
import { ProblemNote } from "../../../components/states/problem_note";
import { CodeName } from "../../../components/text/code_name";
import { SearchIcon } from "../../../components/text/icons";
import { useParts } from "../../../state/parts";
import { useSettled } from "../../../state/timing";
import { stepTitle } from "../ruler/ruler";
import { type TimelineContext, useTimelineContext } from "../state/context";
import { type Scope, scopeQuery } from "../state/range";
import { KindSwatch } from "../tracks/kinds";
import { type Column, GridTable, type Sorting } from "./grid_table";

const WINDOW = 500;

type Sort = NonNullable<RowsQuery["sort"]>;

const SORTS: Readonly<Record<string, readonly [Sort, Sort]>> = {
  ts: ["ts", "-ts"],
  dur: ["dur", "-dur"],
  self: ["self", "-self"],
  name: ["name", "-name"],
};

function columnsOf({ palette }: TimelineContext, { source }: Scope): readonly Column<SliceRow>[] {
  const { tracks, steps } = source.manifest;
  const stepOf = (row: SliceRow) => steps.find((step) => step.index === row.step);
  return [
    {
      key: "ts",
      header: "Start",
      width: "104px",
      isNumber: true,
      isSorted: true,
      title: "From the start of the trace",
      cell: (row) => time(row.ts),
    },
    {
      key: "name",
      header: "Name",
      width: "minmax(160px, 3fr)",
      isSorted: true,
      cell: (row) => (
        <span className="tl-named">
          <KindSwatch fill={palette.kinds[row.kind]?.fills[0]} />
          <CodeName name={row.name} />
        </span>
      ),
    },
    {
      key: "dur",
      header: "Duration",
      width: "84px",
      isNumber: true,
      isSorted: true,
      cell: (row) => time(row.dur),
    },
    {
      key: "self",
      header: "Self",
      width: "84px",
      isNumber: true,
      isSorted: true,
      cell: (row) => time(row.self_ns),
    },
    {
      key: "track",
      header: "Track",
      width: "minmax(100px, 1fr)",
      isMinor: true,
      cell: (row) => <bdi>{harmless(tracks[row.track]?.label ?? "", 80)}</bdi>,
    },
    {
      key: "step",
      header: "Step",
      width: "80px",
      isMinor: true,
      cell: (row) => {
        const step = stepOf(row);
        return step === undefined ? "" : stepTitle(step);
      },
    },
  ];
}

const toTable = (rows: readonly SliceRow[], { source }: Scope) => ({
  header: ["slice", "name", "kind", "track", "ts_ns", "dur_ns", "self_ns", "step"],
  rows: rows.map((row) => [
    row.slice,
    row.name,
    kindWord(row.kind),
    source.manifest.tracks[row.track]?.label ?? null,
    row.ts,
    row.dur,
    row.self_ns,
    row.step,
  ]),
});

export function AreaSlices({ scope }: { scope: Scope }) {
  const timeline = useTimelineContext();
  const { link, selection, actions } = timeline;
  const [typed, setText] = useState("");
  const text = useSettled(typed);
  const [sorting, setSorting] = useState<Sorting>({ column: "ts", isDown: false });
  const [windows, setWindows] = useState<readonly number[]>([0]);
  const [up, down] = SORTS[sorting.column] ?? ["ts", "-ts"];
  const pages = useParts(
    "timeline/rows",
    scope.isBare
      ? []
      : [...new Set([0, ...windows])].map((page) => ({
          asked: scope.source,
          query: {
            ...scopeQuery(scope),
            text,
            sort: sorting.isDown ? down : up,
            offset: page * WINDOW,
            limit: WINDOW,
            layout: link.layout,
          },
        })),
  );
  const onWindow = useCallback((first: number, last: number) => {
    const wanted = [Math.floor(first / WINDOW), Math.floor(last / WINDOW)];
    setWindows((known) => (wanted.every((page) => known.includes(page)) ? known : wanted));
  }, []);
  const problem = pages.find((page) => page.problem !== null)?.problem ?? null;
  const known = new Map(
    pages.flatMap(({ data }) => (data === undefined ? [] : [[data.offset, data.rows] as const])),
  );
  const count = pages.find(({ data }) => data !== undefined)?.data?.count ?? 0;
  const rowAt = (index: number) => {
    const offset = Math.floor(index / WINDOW) * WINDOW;
    return known.get(offset)?.[index - offset];
  };
  const isAsking = pages.some((page) => page.isLoading);
  const fetched = [...known.values()].flat();
  if (problem !== null) {
    return <ProblemNote problem={toProblem(problem)} again={pages[0]?.again ?? (() => {})} />;
  }
  return (
    <>
      <div className="tl-tools">
        <span className="input small">
          <SearchIcon />
          <input
            type="search"
            aria-label="Filter the slices by name"
            placeholder="Filter by name"
            maxLength={400}
            value={typed}
            onChange={(event) => setText(event.target.value)}
          />
        </span>
        <span className="hint grow">
          {isAsking && count === 0 ? "" : plural(count, "slice")}
          {count > fetched.length ? ", fetched as you scroll" : ""}
        </span>
        <CopyTable label="the fetched slices" table={() => toTable(fetched, scope)} />
      </div>
      <GridTable
        label="Slices"
        columns={columnsOf(timeline, scope)}
        count={count}
        rowAt={rowAt}
        keyOf={(row) => row.slice}
        sorting={sorting}
        onSort={setSorting}
        onWindow={onWindow}
        onOpen={(row) => actions.goToId(scope.source, row.slice)}
        isSelected={(row) =>
          selection?.key.slice === row.slice && selection.source === scope.source
        }
        empty={isAsking ? "" : text === "" ? "Nothing ran here." : "No slice of that name here."}
      />
    </>
  );
}
