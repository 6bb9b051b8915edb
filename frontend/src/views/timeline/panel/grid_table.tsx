/** A table that is drawn as far as it can be seen, walked by arrows and sorted by its heads. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { walked } from "../../../base/walk";

const ROW = 24;
const PAGE = 10;

export interface Sorting {
  readonly column: string;
  readonly isDown: boolean;
}

export interface Column<T> {
  readonly key: string;
  readonly header: string;
  /** What it means, on hover. */
  readonly title?: string;
  /** A track of the grid: "80px", "minmax(120px, 3fr)". */
  readonly width: string;
  readonly isNumber?: boolean;
  /** It gives way on small screens. */
  readonly isMinor?: boolean;
  readonly isSorted?: boolean;
  readonly cell: (row: T) => ReactNode;
}

interface GridTableProps<T> {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly count: number;
  /** undefined: on its way. */
  readonly rowAt: (index: number) => T | undefined;
  readonly keyOf: (row: T) => string | number;
  readonly sorting: Sorting | null;
  readonly onSort: (sorting: Sorting) => void;
  readonly onOpen: (row: T) => void;
  readonly isSelected?: (row: T) => boolean;
  /** Which rows can be seen, for whoever fetches them. */
  readonly onWindow?: (first: number, last: number) => void;
  readonly empty: ReactNode;
}

interface HeadProps<T> {
  readonly column: Column<T>;
  readonly sorting: Sorting | null;
  readonly onSort: (sorting: Sorting) => void;
}

const classOf = <T,>({ isNumber, isMinor }: Column<T>) =>
  [isNumber === true ? "num" : "", isMinor === true ? "minor" : ""].filter(Boolean).join(" ");

function Head<T>({ column, sorting, onSort }: HeadProps<T>) {
  const isOwn = sorting?.column === column.key;
  const order = isOwn ? (sorting.isDown ? "descending" : "ascending") : undefined;
  const arrow = isOwn ? (sorting.isDown ? "↓" : "↑") : "";
  return (
    <th className={classOf(column)} aria-sort={order} title={column.title}>
      {column.isSorted === true ? (
        <button
          type="button"
          onClick={() =>
            // Numbers begin with the largest, names with the first.
            onSort({
              column: column.key,
              isDown: isOwn ? !sorting.isDown : column.isNumber === true,
            })
          }
        >
          {column.header}
          <span aria-hidden="true">{arrow}</span>
        </button>
      ) : (
        column.header
      )}
    </th>
  );
}

export function GridTable<T>(props: GridTableProps<T>) {
  const { label, columns, count, rowAt, keyOf, sorting, onSort, onOpen, onWindow, empty } = props;
  const id = useId();
  const scroll = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState(-1);
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW,
    overscan: 8,
    initialRect: { width: 900, height: 200 },
  });
  const items = virtual.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => onWindow?.(first, last), [onWindow, first, last]);

  const onKeyDown = (event: KeyboardEvent) => {
    const paged =
      event.key === "PageDown" ? active + PAGE : event.key === "PageUp" ? active - PAGE : null;
    const to = paged ?? walked(event.key, active, count, ["ArrowUp", "ArrowDown"]);
    const row = rowAt(active);
    if (to !== null && count > 0) {
      event.preventDefault();
      const next = Math.min(Math.max(to, 0), count - 1);
      setActive(next);
      virtual.scrollToIndex(next);
    } else if (event.key === "Enter" && row !== undefined && event.target === event.currentTarget) {
      event.preventDefault();
      onOpen(row);
    }
  };
  const template = { gridTemplateColumns: columns.map((column) => column.width).join(" ") };
  if (count === 0) {
    return <div className="tl-none dim">{empty}</div>;
  }
  return (
    <div ref={scroll} className="tl-grid-scroll">
      <table
        className="tl-grid"
        // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: its rows are walked and opened
        role="grid"
        aria-label={label}
        aria-rowcount={count + 1}
        aria-activedescendant={active >= 0 ? `${id}-${active}` : undefined}
        tabIndex={0}
        onKeyDown={onKeyDown}
      >
        <thead>
          <tr style={template}>
            {columns.map((column) => (
              <Head key={column.key} column={column} sorting={sorting} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody style={{ height: virtual.getTotalSize() }}>
          {items.map(({ index, start }) => {
            const row = rowAt(index);
            const isSelected = row !== undefined && props.isSelected?.(row) === true;
            return (
              <tr
                key={row === undefined ? `row ${index}` : keyOf(row)}
                id={`${id}-${index}`}
                aria-rowindex={index + 2}
                aria-selected={isSelected}
                className={[index === active ? "active" : "", isSelected ? "selected" : ""].join(
                  " ",
                )}
                style={{ ...template, transform: `translateY(${start}px)` }}
                onClick={() => {
                  setActive(index);
                  if (row !== undefined) {
                    onOpen(row);
                  }
                }}
              >
                {columns.map((column) => (
                  <td key={column.key} className={classOf(column)}>
                    {row === undefined ? "…" : column.cell(row)}
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
