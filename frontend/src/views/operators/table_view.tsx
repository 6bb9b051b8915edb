import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useMemo, useState } from "react";
import { toProblem } from "../../api/problem";
import type { GroupBy, OperatorQuery, OperatorRow, Operators } from "../../api/types.gen";
import type { PlainTable } from "../../base/text/delimited";
import { CopyRows } from "../../components/controls/copy_table";
import { SearchField } from "../../components/controls/search_field";
import { WindowTable } from "../../components/data_table/table";
import { rowAmong, useOffsets, WINDOW } from "../../components/data_table/use_windows";
import { ColumnsMenu, hiddenIn } from "../../components/overlays/columns_menu";
import { ProblemNote } from "../../components/states/problem_note";
import { useAddress, useValues } from "../../state/host/environment";
import { usePage } from "../../state/page_context";
import { type Asked, askPart, NOBODY, useParts } from "../../state/parts";
import { columnsOf, type Scales, scalesOf } from "./columns";
import { Details } from "./details";

/** By what calls are grouped; what this recording cannot fill says what to record. */

const GROUPS: readonly (readonly [GroupBy, string])[] = [
  ["name", "Operator"],
  ["shape", "+ input shape"],
  ["module", "Module"],
  ["annotation", "Annotation"],
  ["thread", "Thread"],
  ["stack", "Stack"],
];
const DEPTHS = [1, 2, 3, 5, 8, 12, 20, 64];

interface GroupMenuProps {
  readonly answer: Operators;
  readonly query: OperatorQuery;
  readonly onChange: (key: string, value: string) => void;
}

export function GroupMenu({ answer, query, onChange }: GroupMenuProps) {
  return (
    <>
      <div className="seg" role="radiogroup" aria-label="Group by">
        {GROUPS.map(([group, words]) => {
          const missing = answer.groupings[group] ?? "";
          return (
            <label key={group} title={missing} className={missing === "" ? "" : "off"}>
              <input
                type="radio"
                name="operators-group"
                checked={query.group_by === group}
                disabled={missing !== ""}
                onChange={() => onChange("group", group === "name" ? "" : group)}
              />
              {words}
            </label>
          );
        })}
      </div>
      {query.group_by === "stack" ? (
        <select
          aria-label="Number of innermost frames to compare"
          className="btn small"
          value={query.stack_depth ?? 5}
          onChange={(event) => onChange("depth", event.target.value)}
        >
          {DEPTHS.map((depth) => (
            <option key={depth} value={depth}>
              {depth === 1 ? "1 frame" : `${depth} frames`}
            </option>
          ))}
        </select>
      ) : null}
    </>
  );
}

/** What is copied: every row that matches, in base units. */

const FIELDS = [
  "name",
  "kind",
  "detail",
  "calls",
  "device_self_ns",
  "device_total_ns",
  "self_ns",
  "total_ns",
  "min_ns",
  "mean_ns",
  "p50_ns",
  "p95_ns",
  "max_ns",
  "kernels",
  "flops",
  "step_ratio",
  "tensor_core_self_ratio",
] as const;

export const plainRows = (rows: readonly OperatorRow[]): PlainTable => ({
  header: FIELDS,
  rows: rows.map((row) => FIELDS.map((field) => row[field])),
});

/** The table of operators: grouped, searched, sorted, opened in place. */

interface OperatorRowsProps {
  readonly answer: Operators;
  readonly steps: string;
  readonly modes: ReactNode;
}

export const USUALLY_HIDDEN = "min_ns,mean_ns,kernels";
const KINDS = [
  ["op,annotation", "Ops and annotations"],
  ["op", "Ops"],
  ["annotation", "Annotations"],
  ["module,python", "Python frames"],
  ["op,annotation,runtime,module,python,other", "Everything"],
] as const;

/** What stands in a table without rows: it may be the search, or the kinds that are chosen. */
function nothingFound({ search, kinds }: OperatorQuery): string {
  if (search !== undefined && search !== "") {
    return "Nothing of that name in the chosen steps.";
  }
  const words = KINDS.find(([known]) => known === kinds)?.[1] ?? "Rows of these kinds";
  return words === "Everything"
    ? "Nothing was recorded in the chosen steps."
    : `${words} were not recorded in the chosen steps; “Everything” shows all kinds.`;
}

/** The query that the address says. */
export function useOperatorQuery(steps: string): OperatorQuery {
  const values = useValues();
  const depth = Number(values["operators.depth"]);
  return useMemo(
    () => ({
      steps,
      group_by: (values["operators.group"] ?? "name") as GroupBy,
      ...(Number.isInteger(depth) && depth > 0 ? { stack_depth: Math.min(depth, 64) } : {}),
      kinds: values["operators.kinds"] ?? "op,annotation",
      search: values["operators.search"] ?? "",
      sort_by: values["operators.sort"] ?? "",
      ascending: values["operators.up"] === "1",
    }),
    [steps, values, depth],
  );
}

function useOperatorRows(asked: Asked, query: OperatorQuery) {
  const [offsets, onRange] = useOffsets();
  const questions = offsets.map((offset) => ({
    asked,
    query: { ...query, offset, limit: WINDOW },
  }));
  const states = useParts("operators/table", questions);
  const windows = states.map((state) => state.data);
  return {
    first: windows.find((one) => one !== undefined),
    rowAt: (index: number) => rowAmong(windows, index),
    onRange,
    isLoading: states.some((state) => state.isLoading),
    problem: states.find((state) => state.problem !== null)?.problem ?? null,
    again: () => {
      for (const state of states) {
        state.again();
      }
    },
  };
}

export function OperatorRows({ answer, steps, modes }: OperatorRowsProps) {
  const address = useAddress();
  const values = useValues();
  const client = useQueryClient();
  const { shown } = usePage();
  const query = useOperatorQuery(steps);
  const asked: Asked = shown ?? NOBODY;
  const { first, rowAt, onRange, isLoading, problem, again } = useOperatorRows(asked, query);
  const [last, setLast] = useState(first);
  if (first !== undefined && first !== last) {
    setLast(first);
  }
  const known = first ?? last;
  const scales: Scales = useMemo(() => scalesOf(known?.rows ?? []), [known]);
  const hidden = hiddenIn(values["operators.hide"], USUALLY_HIDDEN);
  const all = columnsOf(answer, scales, query);
  const columns = all.filter(({ key }) => !hidden.has(key));
  const set = (key: string, value: string) =>
    address.replace({ [`operators.${key}`]: value === "" ? undefined : value });
  return (
    <section className="panel" aria-label="Operators">
      <div className="tools">
        <GroupMenu answer={answer} query={query} onChange={set} />
        <select
          aria-label="Kinds of rows"
          className="btn small"
          value={query.kinds}
          onChange={(event) => set("kinds", event.target.value)}
        >
          {KINDS.map(([kinds, words]) => (
            <option key={kinds} value={kinds}>
              {words}
            </option>
          ))}
        </select>
        <SearchField
          words="Filter by name"
          value={query.search ?? ""}
          onChange={(text) => set("search", text)}
        />
        <span className="hint" aria-live="polite">
          {known === undefined ? "" : `${known.count.toLocaleString("en-US")} rows`}
        </span>
        <span className="grow" />
        {modes}
        <ColumnsMenu columns={all} hidden={hidden} onChange={(hidden) => set("hide", hidden)} />
        <CopyRows
          key={JSON.stringify([asked, query])}
          label="operators"
          ask={(offset, limit) =>
            askPart(client, "operators/table", asked, { ...query, offset, limit })
          }
          toTable={plainRows}
        />
      </div>
      {problem === null ? (
        <WindowTable<OperatorRow>
          label="Operators"
          columns={columns}
          windows={{ count: known?.count ?? 0, rowAt, onRange }}
          sortBy={known?.sort_by ?? ""}
          isAscending={query.ascending === true}
          onSort={(key, isAscending) =>
            address.replace({
              "operators.sort": key,
              "operators.up": isAscending ? "1" : undefined,
            })
          }
          opened={values["operators.row"] ?? null}
          onOpen={(key) => address.replace({ "operators.row": key ?? undefined })}
          detail={(row) => <Details asked={asked} row={row} query={query} answer={answer} />}
          empty={nothingFound(query)}
          isOld={isLoading && first === undefined}
        />
      ) : (
        <ProblemNote problem={toProblem(problem)} again={again} />
      )}
    </section>
  );
}
