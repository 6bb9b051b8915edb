import type { ReactNode } from "react";
import type { GroupBy, OperatorQuery, Operators } from "../../api/types.gen";
import { SearchField } from "../../components/controls/search_field";
import { Segmented } from "../../components/controls/segmented";
import { Select } from "../../components/controls/select";
import { PartTable } from "../../components/data_table/part_table";
import type { PerStep } from "../../components/data_table/per_step";
import { useAddress, useValues } from "../../state/host/environment";
import { cellsOf } from "./cells";
import { Details } from "./details";

/** By what calls are grouped; what this recording cannot fill says what to record. */

const GROUPS: readonly (readonly [GroupBy, string])[] = [
  ["name", "Operator"],
  ["shape", "+ input shape"],
  ["module", "Module"],
  ["line", "Your code"],
  ["annotation", "Annotation"],
  ["thread", "Thread"],
  ["stack", "Stack"],
];
const DEPTHS = ["1", "2", "3", "5", "8", "12", "20", "64"].map(
  (depth) => [depth, depth === "1" ? "1 frame" : `${depth} frames`] as const,
);

interface GroupMenuProps {
  readonly answer: Operators;
  readonly query: OperatorQuery;
  readonly onChange: (key: string, value: string) => void;
}

function GroupMenu({ answer, query, onChange }: GroupMenuProps) {
  return (
    <>
      <Segmented
        label="Group by"
        options={GROUPS.map(([group, words]) => [group, words, answer.groupings[group] ?? ""])}
        value={query.group_by ?? "name"}
        onChange={(group) => onChange("group", group === "name" ? "" : group)}
      />
      {query.group_by === "stack" ? (
        <Select
          label="Number of innermost frames to compare"
          options={DEPTHS}
          value={String(query.stack_depth ?? 5)}
          onChange={(depth) => onChange("depth", depth)}
        />
      ) : null}
    </>
  );
}

/** The table of operators: grouped, searched, sorted, opened in place. */

interface OperatorRowsProps {
  readonly answer: Operators;
  readonly steps: string;
  readonly perStep: PerStep;
  readonly modes: ReactNode;
}

export const KINDS_USUAL = "op,annotation";
const KINDS = [
  [KINDS_USUAL, "Ops and annotations"],
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
function useOperatorQuery(steps: string): OperatorQuery {
  const values = useValues();
  const depth = Number(values["operators.depth"]);
  return {
    steps,
    group_by: (values["operators.group"] ?? "name") as GroupBy,
    ...(Number.isInteger(depth) && depth > 0 ? { stack_depth: Math.min(depth, 64) } : {}),
    kinds: values["operators.kinds"] ?? KINDS_USUAL,
    search: values["operators.search"] ?? "",
  };
}

export function OperatorRows({ answer, steps, perStep, modes }: OperatorRowsProps) {
  const address = useAddress();
  const query = useOperatorQuery(steps);
  const set = (key: string, value: string) =>
    address.replace({ [`operators.${key}`]: value === "" ? undefined : value });
  return (
    <PartTable
      part="operators/table"
      label="Operators"
      stem="operators"
      query={query}
      perStep={perStep}
      keyOf={(row) => row.key}
      cells={(rows) => cellsOf(rows, query)}
      filters={
        <>
          <GroupMenu answer={answer} query={query} onChange={set} />
          <Select
            label="Kinds of rows"
            options={KINDS}
            value={query.kinds ?? ""}
            onChange={(kinds) => set("kinds", kinds)}
          />
          <SearchField
            words="Filter by name"
            value={query.search ?? ""}
            onChange={(text) => set("search", text)}
          />
        </>
      }
      modes={modes}
      detail={(row) => <Details row={row} query={query} answer={answer} perStep={perStep} />}
      empty={nothingFound(query)}
    />
  );
}
