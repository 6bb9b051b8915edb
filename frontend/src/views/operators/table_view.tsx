/** The table of operators: grouped, searched, sorted, opened in place. */
import { type ReactNode, useMemo, useState } from "react";
import { toProblem } from "../../api/problem";
import type { GroupBy, OperatorQuery, OperatorRow, Operators } from "../../api/types.gen";
import { ColumnsMenu, hiddenIn } from "../../components/columns_menu";
import { ProblemNote } from "../../components/problem_note";
import { SearchField } from "../../components/search_field";
import { WindowTable } from "../../components/window_table";
import { useAddress, useValues } from "../../state/environment";
import { usePage } from "../../state/page_context";
import { type Asked, NOBODY, useParts } from "../../state/parts";
import { rowAmong, useOffsets, WINDOW } from "../../state/windows";
import { columnsOf, type Scales, scalesOf } from "./columns";
import { Details } from "./details";
import { GroupMenu } from "./group_menu";
import { TakeAway } from "./take_away";

interface OperatorRowsProps {
  readonly answer: Operators;
  readonly steps: string;
  readonly modes: ReactNode;
}

const USUALLY_HIDDEN = "min_ns,mean_ns,kernels,flops";
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
        <TakeAway asked={asked} query={query} />
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
