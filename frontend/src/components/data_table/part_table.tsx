/**
 * A table that the server holds, with its tools: filters, the number of rows, the columns, a copy of all
 * rows. What is sorted, open and hidden stands in the address below `stem`.
 */
import { useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { PartQueries } from "../../api/types.gen";
import type { PlainTable } from "../../base/text/delimited";
import { plural } from "../../base/text/format";
import { useAddress, useValues } from "../../state/host/environment";
import { askPart, useAsked } from "../../state/parts";
import { CopyRows } from "../controls/copy_table";
import { ColumnsMenu, hiddenIn } from "../overlays/columns_menu";
import { ProblemNote } from "../states/problem_note";
import { type RowOf, type TablePart, useWindows } from "./rows";
import { type Column, DataTable } from "./table";

interface Row {
  readonly key: string;
}

/** The parts whose rows have a key, which opens them. */
type KeyedPart = { [P in TablePart]: RowOf<P> extends Row ? P : never }[TablePart];

interface PartTableProps<P extends KeyedPart> {
  readonly part: P;
  readonly label: string;
  /** Before its keys in the address: `kernels` for `kernels.sort`. */
  readonly stem: string;
  readonly query: PartQueries[P];
  /** All columns, for the rows that are here. */
  readonly columns: (rows: readonly RowOf<P>[]) => readonly Column<RowOf<P>>[];
  /** What each column means, by its key. */
  readonly definitions: Readonly<Record<string, string>>;
  /** Keys of the columns that are hidden until someone asks for them. */
  readonly usuallyHidden: string;
  readonly toPlain: (rows: readonly RowOf<P>[]) => PlainTable;
  readonly filters: ReactNode;
  readonly modes?: ReactNode;
  readonly detail: (row: RowOf<P>) => ReactNode;
  readonly empty: string;
}

export function PartTable<P extends KeyedPart>(props: PartTableProps<P>) {
  const { part, label, stem, definitions, toPlain } = props;
  const address = useAddress();
  const values = useValues();
  const client = useQueryClient();
  const asked = useAsked();
  const query = {
    ...props.query,
    sort_by: values[`${stem}.sort`] ?? "",
    ascending: values[`${stem}.up`] === "1",
  };
  const { known, fetched, rows, isOld, problem, again } = useWindows(part, asked, query);
  const all = props
    .columns(fetched.length > 0 ? fetched : (known?.rows ?? []))
    .map((column) => ({ help: definitions[column.key] ?? "", ...column }));
  const hidden = hiddenIn(values[`${stem}.hide`], props.usuallyHidden);
  const opened = values[`${stem}.row`];
  const sortBy = known?.sort_by ?? "";
  return (
    <section className="panel" aria-label={label}>
      <div className="tools">
        {props.filters}
        <span className="hint" aria-live="polite">
          {known === undefined ? "" : plural(known.count, "row")}
        </span>
        <span className="grow" />
        {props.modes}
        <ColumnsMenu
          columns={all}
          hidden={hidden}
          onChange={(next) => address.replace({ [`${stem}.hide`]: next })}
        />
        <CopyRows
          key={JSON.stringify([asked, query])}
          label={label.toLowerCase()}
          ask={(offset, limit) => askPart(client, part, asked, { ...query, offset, limit })}
          toTable={toPlain}
        />
      </div>
      {problem === null ? (
        <DataTable<RowOf<P>>
          label={label}
          columns={all.filter(({ key }) => !hidden.has(key))}
          rows={rows}
          keyOf={(row) => row.key}
          sorting={sortBy === "" ? null : { key: sortBy, isDown: query.ascending !== true }}
          onSort={({ key, isDown }) =>
            address.replace({ [`${stem}.sort`]: key, [`${stem}.up`]: isDown ? undefined : "1" })
          }
          expanded={(row) => row.key === opened}
          onExpand={(row, isOpen) =>
            address.replace({ [`${stem}.row`]: isOpen ? row.key : undefined })
          }
          detail={props.detail}
          toPlain={toPlain}
          empty={props.empty}
          isOld={isOld}
        />
      ) : (
        <ProblemNote problem={problem} again={again} />
      )}
    </section>
  );
}
