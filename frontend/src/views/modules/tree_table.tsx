/** The tree of modules as a table; rows of several siblings open to each of them. */
import { Fragment, useState } from "react";
import type { ModuleRow, Modules, ModulesQuery, ModuleTable } from "../../api/types.gen";
import { count, exactTime, plural, timeScale, withUnit } from "../../base/text/format";
import { roundToSum } from "../../base/text/rounding";
import { harmless } from "../../base/text/shown_name";
import { CopyTable } from "../../components/controls/copy_table";
import { SearchField } from "../../components/controls/search_field";
import { Segmented } from "../../components/controls/segmented";
import {
  declaredColumns,
  declaredToPlain,
  hiddenByDefault,
} from "../../components/data_table/declared";
import { type PerStep, perStepHeads, perStepRow } from "../../components/data_table/per_step";
import type { Sorting } from "../../components/data_table/rows";
import { DataTable } from "../../components/data_table/table";
import { ColumnsMenu, hiddenIn } from "../../components/overlays/columns_menu";
import { Tip } from "../../components/overlays/tip";
import { FirstFew } from "../../components/states/first_few";
import { ProblemNote } from "../../components/states/problem_note";
import { Prose } from "../../components/text/prose";
import { useAddress, useValues } from "../../state/host/environment";
import { useAsked, usePart, useParts } from "../../state/parts";
import { cellsOf, PhaseLegend } from "./cells";
import { ALL_LEVELS, byParent, isOpen, seenRows, USUAL_LEVELS, waysToCompiled } from "./tree";

const FORMS = [
  ["1", "Fold equal siblings"],
  ["0", "Show every module"],
] as const;

interface TreeTableProps {
  readonly answer: Modules;
  readonly steps: string;
  readonly isOld: boolean;
  readonly perStep: PerStep;
}

/** The rows that are here, and which of them are open. */
function useTree(answer: Modules, steps: string) {
  const values = useValues();
  const asked = useAsked();
  const search = values["modules.search"] ?? "";
  const fold = values["modules.fold"] !== "0";
  const query: ModulesQuery = { steps, fold, search };
  const isFirst = fold && search === "";
  const table = usePart("modules/table", asked, isFirst ? null : query, true);
  const found = isFirst ? answer.table : table.data;
  // What was opened and closed in the whole tree, and in what a search finds.
  const [usual, setUsual] = useState<ReadonlySet<string>>(new Set());
  const [searched, setSearched] = useState<ReadonlySet<string>>(new Set());
  const [toggled, setToggled] = search === "" ? [usual, setUsual] : [searched, setSearched];
  // What several siblings hold is asked for as they are opened.
  const parts = useParts(
    "modules/table",
    [...toggled]
      .filter((key) => key.endsWith("+") && fold)
      .map((below) => ({ asked, query: { ...query, below } })),
  );
  return {
    search,
    fold,
    found,
    inside: byParent([found?.rows ?? [], ...parts.map(({ data }) => data?.rows ?? [])]),
    opening: {
      levels: search === "" ? USUAL_LEVELS : ALL_LEVELS,
      ways: waysToCompiled(found?.rows ?? []),
      toggled,
    },
    onToggle: (key: string) => {
      const next = new Set(toggled);
      if (!next.delete(key)) {
        next.add(key);
      }
      setToggled(next);
    },
    isOld: table.isOld || found === undefined,
    problem: [table, ...parts].find((one) => one.problem !== null)?.problem ?? null,
    again: () => [table, ...parts].map((one) => one.again()),
  };
}

/** How many modules the rows stand for. */
function howMany(table: ModuleTable | undefined): string {
  if (table === undefined) {
    return "";
  }
  return table.rows.length < table.count
    ? `the largest ${count(table.rows.length)} of ${plural(table.count, "row")}`
    : plural(table.modules, "module");
}

export function TreeTable({ answer, steps, isOld, perStep }: TreeTableProps) {
  const address = useAddress();
  const values = useValues();
  const tree = useTree(answer, steps);
  const [sorting, setSorting] = useState<Sorting>({ key: "total_ns", isDown: true });
  const heads = perStepHeads(answer.table.columns, perStep);
  const ofStep = (row: ModuleRow) => perStepRow(row, heads, perStep.steps);
  const seen = seenRows(tree.inside, tree.opening, sorting).map(ofStep);
  const rows = answer.table.rows.map(ofStep);
  const all = declaredColumns(heads, rows, cellsOf(rows));
  const hidden = hiddenIn(values["modules.hide"], hiddenByDefault(heads));
  const toPlain = declaredToPlain<ModuleRow>(heads, perStep.steps);
  const set = (key: string, value: string | undefined) =>
    address.replace({ [`modules.${key}`]: value });
  return (
    <section className="panel" aria-label="Modules">
      <div className="tools">
        <SearchField
          words="Filter modules"
          value={tree.search}
          onChange={(text) => set("search", text || undefined)}
        />
        <Segmented
          label="Siblings of equal structure"
          options={FORMS}
          value={tree.fold ? "1" : "0"}
          onChange={(next) => set("fold", next === "1" ? undefined : "0")}
        />
        <span className="hint" aria-live="polite">
          {howMany(tree.found)} by <Prose text={answer.source} />
        </span>
        <div className="tools-end">
          {perStep.choice}
          <PhaseLegend rows={answer.roots} />
          <ColumnsMenu columns={all} hidden={hidden} onChange={(next) => set("hide", next)} />
          <CopyTable
            label="modules"
            table={() => toPlain(seen)}
            note={plural(seen.length, "row")}
          />
        </div>
      </div>
      {tree.problem === null ? (
        <DataTable<ModuleRow>
          label="Modules"
          columns={all.filter(({ key }) => !hidden.has(key))}
          rows={seen}
          keyOf={({ key }) => key}
          sorting={sorting}
          onSort={setSorting}
          levelOf={({ depth }) => depth}
          expanded={(row) => (row.inside === 0 ? undefined : isOpen(row, tree.opening))}
          onExpand={({ key }) => tree.onToggle(key)}
          toPlain={toPlain}
          empty="No module of that name."
          isOld={isOld || tree.isOld}
        />
      ) : (
        <ProblemNote problem={tree.problem} again={tree.again} />
      )}
      <NeverCalled names={answer.never_called} />
    </section>
  );
}

/** What the model has and the recording did not run. */
function NeverCalled({ names }: { names: readonly string[] }) {
  return names.length === 0 ? null : (
    <div className="modules-rest">
      <h3>Never called in this recording</h3>
      <FirstFew items={names} most={8}>
        {(shown) => (
          <p>
            {shown.map((name, place) => (
              <Fragment key={name}>
                {place === 0 ? "" : ", "}
                <code>{harmless(name, 120)}</code>
              </Fragment>
            ))}
          </p>
        )}
      </FirstFew>
    </div>
  );
}

const capitalized = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1);

interface SumProps {
  readonly answer: Modules;
  readonly perStep: PerStep;
}

/** Modules and all that is of none, which is the whole: one line. */
export function Sum({ answer, perStep }: SumProps) {
  const whole = answer.device ?? answer.ops;
  if (whole.total_ns === 0) {
    return null;
  }
  const { steps, words } = perStep;
  const total = whole.total_ns / steps;
  const scale = timeScale(total);
  const quantum = scale.unit.size / 10 ** scale.decimals;
  const shown = roundToSum(
    whole.parts.map(({ ns }) => ns / steps),
    quantum,
    { whole: total },
  );
  const before = whole.parts.find(({ key }) => key === "prologue");
  return (
    <section className="modules-sum" aria-label="What adds up">
      <p>
        {whole.parts.map(({ key, name, help }, place) => (
          <span key={key}>
            {place === 0 ? "" : "+ "}
            <Tip text={help}>{place === 0 ? capitalized(name) : name}</Tip>{" "}
            <b>{withUnit(shown[place] ?? 0, scale)}</b>
          </span>
        ))}
        <span title={exactTime(total)}>
          = {answer.device === null ? "all ops" : "all kernels, copies and sets"}{" "}
          <b>{withUnit(total, scale)}</b>
          {words}
        </span>
      </p>
      {before === undefined ? null : (
        <p className="hint">
          {capitalized(before.name)}: {before.help}
        </p>
      )}
    </section>
  );
}
