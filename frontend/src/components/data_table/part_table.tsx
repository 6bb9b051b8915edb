/**
 * A table that the server holds, with its tools: filters, the number of rows, the columns, a copy of all
 * rows. What is sorted, open and hidden stands in the address below `stem`.
 */
import { useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { Column as Head, PartQueries } from "../../api/types.gen";
import { plural } from "../../base/text/format";
import { useAddress, useValues } from "../../state/host/environment";
import { askPart, useAsked } from "../../state/parts";
import { CopyRows } from "../controls/copy_table";
import { ColumnsMenu, hiddenIn } from "../overlays/columns_menu";
import { ProblemNote } from "../states/problem_note";
import { type Cells, declaredColumns, declaredToPlain, hiddenByDefault } from "./declared";
import { type PerStep, perStepHeads, perStepRow } from "./per_step";
import { type RowOf, type Rows, type Sorting, type TablePart, useWindows } from "./rows";
import { DataTable } from "./table";

interface PartTableProps<P extends TablePart> {
  readonly part: P;
  readonly label: string;
  /** Above the tools: what the rows are of. */
  readonly head?: ReactNode;
  /** Before its keys in the address: `kernels` for `kernels.sort`. */
  readonly stem: string;
  readonly query: PartQueries[P];
  /** Names a row: in the address while it is open. */
  readonly keyOf: (row: RowOf<P>) => string;
  /** The order until someone chooses one; without it, the server tells which it is. */
  readonly usualSorting?: Sorting;
  /** How the view draws some of the columns that the answer declares. */
  readonly cells?: (rows: readonly RowOf<P>[]) => Cells<RowOf<P>>;
  /** How the sums of the rows are shown; without it, as sums. */
  readonly perStep?: PerStep;
  readonly filters: ReactNode;
  readonly modes?: ReactNode;
  readonly detail?: (row: RowOf<P>) => ReactNode;
  /** Hears which row the pointer or the focus is on. */
  readonly onPoint?: (row: RowOf<P> | null) => void;
  readonly empty: string;
}

/** Some rows of the table, and how many it has. */
type Window<P extends TablePart> = { readonly rows: readonly RowOf<P>[]; readonly count: number };

/** Why there are no rows, where the server knows it. */
function whyEmpty(known: unknown): string | null {
  const missing = (known as { readonly missing?: unknown } | undefined)?.missing;
  return typeof missing === "string" && missing !== "" ? missing : null;
}

/** The rows with their sums as those of one step. */
function rowsOfStep<R>(rows: Rows<R>, ofStep: (row: R) => R): Rows<R> {
  const rowAt = (at: number) => {
    const row = rows.rowAt(at);
    return row === undefined ? undefined : ofStep(row);
  };
  return { ...rows, rowAt };
}

/** The order of the rows: as the address says, else as the server sorts by itself. */
function sortingOf<P extends TablePart>(
  { usualSorting }: PartTableProps<P>,
  chosen: string | undefined,
  isUp: boolean,
  known: unknown,
): Sorting | null {
  if (chosen === undefined && usualSorting !== undefined) {
    return usualSorting;
  }
  const sorted = (known as { readonly sort_by?: string } | undefined)?.sort_by;
  const key = sorted ?? chosen ?? "";
  return key === "" ? null : { key, isDown: !isUp };
}

export function PartTable<P extends TablePart>(props: PartTableProps<P>) {
  const { part, label, stem, keyOf, usualSorting, detail, onPoint } = props;
  const address = useAddress();
  const values = useValues();
  const client = useQueryClient();
  const asked = useAsked();
  const chosen = values[`${stem}.sort`];
  const isUp =
    chosen === undefined && usualSorting !== undefined
      ? !usualSorting.isDown
      : values[`${stem}.up`] === "1";
  const query = {
    ...props.query,
    sort_by: chosen ?? usualSorting?.key ?? "",
    ascending: isUp,
  };
  const { known, fetched, rows, isOld, problem, again } = useWindows(part, asked, query);
  const steps = props.perStep?.steps ?? 1;
  const declared = (known as { readonly columns?: readonly Head[] } | undefined)?.columns ?? [];
  const heads = perStepHeads(declared, props.perStep);
  const ofStep = (row: RowOf<P>) => perStepRow(row, heads, steps);
  const here = (fetched.length > 0 ? fetched : (known?.rows ?? [])).map(ofStep);
  const toPlain = declaredToPlain<RowOf<P>>(heads, steps);
  const all = declaredColumns(heads, here, props.cells?.(here) ?? {});
  const empty = whyEmpty(known) ?? props.empty;
  const hidden = hiddenIn(values[`${stem}.hide`], hiddenByDefault(heads));
  const opened = values[`${stem}.row`];
  return (
    <section className="panel" aria-label={label}>
      {props.head}
      <div className="tools">
        {props.filters}
        <span className="hint" aria-live="polite">
          {known === undefined ? "" : plural(known.count, "row")}
        </span>
        <div className="tools-end">
          {props.perStep?.choice}
          {props.modes}
          <ColumnsMenu
            columns={all}
            hidden={hidden}
            onChange={(next) => address.replace({ [`${stem}.hide`]: next })}
          />
          <CopyRows
            key={JSON.stringify([asked, query])}
            label={label.toLowerCase()}
            ask={(offset, limit) =>
              askPart(client, part, asked, { ...query, offset, limit }) as Promise<Window<P>>
            }
            toTable={(found) => toPlain(found.map(ofStep))}
          />
        </div>
      </div>
      {problem === null ? (
        <DataTable<RowOf<P>>
          label={label}
          columns={all.filter(({ key }) => !hidden.has(key))}
          rows={rowsOfStep(rows, ofStep)}
          keyOf={keyOf}
          sorting={sortingOf(props, chosen, isUp, known)}
          onSort={({ key, isDown }) =>
            address.replace({ [`${stem}.sort`]: key, [`${stem}.up`]: isDown ? undefined : "1" })
          }
          {...(detail === undefined
            ? {}
            : {
                detail,
                expanded: (row: RowOf<P>) => keyOf(row) === opened,
                onExpand: (row: RowOf<P>, isOpen: boolean) =>
                  address.replace({ [`${stem}.row`]: isOpen ? keyOf(row) : undefined }),
              })}
          {...(onPoint === undefined ? {} : { onPoint })}
          toPlain={toPlain}
          empty={empty}
          isOld={isOld}
        />
      ) : (
        <ProblemNote problem={problem} again={again} />
      )}
    </section>
  );
}
