/** The head of a column: what it is called, what it means, and whether the table goes by it. */
import { Tip } from "./tip";
import type { WindowColumn } from "./window_table";

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
  const { key, label, unit, help = "", isNumber, isMinor, isSortable } = column;
  const words = (
    <>
      {label}
      {unit === undefined ? null : <span className="unit"> {unit}</span>}
    </>
  );
  const classes = [isNumber ? "num" : "", isMinor ? "minor" : ""].filter(Boolean).join(" ");
  return (
    <th className={classes} aria-sort={order(sorted)} title={help}>
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
