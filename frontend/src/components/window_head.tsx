/** The head of a column: what it is called, what it means, and whether the table goes by it. */
import { Tip } from "./tip";
import type { WindowColumn } from "./window_table";

export const cellClass = <R,>({ isNumber }: WindowColumn<R>) => (isNumber ? "num clip" : "clip");

interface WindowHeadProps<R> {
  readonly column: WindowColumn<R>;
  /** Ascending, or not; null = by another column. */
  readonly sorted: boolean | null;
  readonly onSort: (key: string, isAscending: boolean) => void;
}

const arrow = (sorted: boolean | null) => (sorted === null ? "" : sorted ? "↑" : "↓");
const order = (sorted: boolean | null) =>
  sorted === null ? undefined : sorted ? "ascending" : "descending";

export function WindowHead<R>({ column, sorted, onSort }: WindowHeadProps<R>) {
  const { key, label, unit, help = "", isSortable } = column;
  const words = (
    <>
      {label}
      {unit === undefined ? null : <span className="unit"> {unit}</span>}
    </>
  );
  return (
    <th className={cellClass(column)} aria-sort={order(sorted)} title={help}>
      {isSortable ? (
        <button
          type="button"
          onClick={() => onSort(key, sorted === null ? key === "name" : !sorted)}
        >
          {words}
          <span aria-hidden="true">{arrow(sorted)}</span>
        </button>
      ) : (
        <Tip text={help} className="">
          {words}
        </Tip>
      )}
    </th>
  );
}
