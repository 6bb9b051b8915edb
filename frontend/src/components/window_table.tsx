/**
 * A long table that the server holds: rows come in windows, only what can be seen is drawn, and a
 * row opens in place. Sorting is the server's, too.
 */
import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, type ReactNode, useEffect, useRef } from "react";
import { walked } from "../base/walk";
import { Tip } from "./tip";

export interface WindowColumn<R> {
  readonly key: string;
  readonly label: string;
  readonly unit?: string;
  readonly help?: string;
  readonly isNumber?: boolean;
  /** It gives way on small screens. */
  readonly isMinor?: boolean;
  readonly isSortable?: boolean;
  /** A track of the grid: "minmax(200px, 3fr)". */
  readonly width: string;
  readonly cell: (row: R) => ReactNode;
}

export interface Windows<R> {
  readonly count: number;
  readonly rowAt: (index: number) => R | undefined;
  /** The rows that are to be seen: the windows that hold them are fetched. */
  readonly onRange: (first: number, last: number) => void;
}

interface WindowTableProps<R> {
  readonly label: string;
  readonly columns: readonly WindowColumn<R>[];
  readonly windows: Windows<R>;
  readonly sortBy: string;
  readonly isAscending: boolean;
  readonly onSort: (key: string, isAscending: boolean) => void;
  readonly opened: string | null;
  readonly onOpen: (key: string | null) => void;
  readonly detail: (row: R) => ReactNode;
  readonly empty: string;
  readonly isOld: boolean;
}

const ROW = 26;

export function WindowTable<R extends { readonly key: string }>({
  label,
  columns,
  windows,
  sortBy,
  isAscending,
  onSort,
  opened,
  onOpen,
  detail,
  empty,
  isOld,
}: WindowTableProps<R>) {
  const scroll = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: windows.count,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW,
    overscan: 10,
    initialRect: { width: 1200, height: 480 },
    getItemKey: (index) => windows.rowAt(index)?.key ?? index,
  });
  const items = virtual.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;
  const { onRange } = windows;
  useEffect(() => onRange(first, last), [onRange, first, last]);
  const grid = { gridTemplateColumns: columns.map((column) => column.width).join(" ") };

  const onKeyDown = (event: KeyboardEvent) => {
    const row = (event.target as HTMLElement).closest<HTMLElement>("[data-index]");
    const index = Number(row?.dataset["index"]);
    const key = Number.isNaN(index) ? undefined : windows.rowAt(index)?.key;
    if (row === null || key === undefined || event.target !== row) {
      return;
    }
    const target = walked(event.key, index, windows.count, ["ArrowUp", "ArrowDown"]);
    if (target !== null) {
      event.preventDefault();
      virtual.scrollToIndex(target);
      requestAnimationFrame(() =>
        scroll.current?.querySelector<HTMLElement>(`[data-index="${target}"]`)?.focus(),
      );
    } else if (["Enter", " ", "ArrowRight"].includes(event.key)) {
      event.preventDefault();
      onOpen(opened === key && event.key !== "ArrowRight" ? null : key);
    } else if (["ArrowLeft", "Escape"].includes(event.key) && opened === key) {
      event.preventDefault();
      onOpen(null);
    }
  };

  return (
    <div ref={scroll} className={isOld ? "wt-scroll stale" : "wt-scroll"}>
      <div
        role="table"
        className="wt"
        aria-label={label}
        aria-rowcount={windows.count + 1}
        onKeyDown={onKeyDown}
      >
        <div role="row" className="wt-head" style={grid} aria-rowindex={1}>
          {columns.map((column) => (
            <Head
              key={column.key}
              column={column}
              sorted={sortBy === column.key ? isAscending : null}
              onSort={onSort}
            />
          ))}
        </div>
        <div role="rowgroup" className="wt-body" style={{ height: virtual.getTotalSize() }}>
          {items.map((item) => {
            const row = windows.rowAt(item.index);
            const isOpen = row !== undefined && row.key === opened;
            return (
              <div
                key={item.key}
                ref={virtual.measureElement}
                data-index={item.index}
                role="row"
                aria-rowindex={item.index + 2}
                aria-expanded={isOpen}
                tabIndex={item.index === 0 || isOpen ? 0 : -1}
                className={isOpen ? "wt-row open" : "wt-row"}
                style={{ transform: `translateY(${item.start}px)` }}
              >
                {row === undefined ? (
                  <div role="cell" className="wt-cells dim" style={grid}>
                    …
                  </div>
                ) : (
                  <>
                    {/* biome-ignore lint/a11y/useKeyWithClickEvents: the row handles keys */}
                    <div
                      role="presentation"
                      className="wt-cells"
                      style={grid}
                      onClick={() => onOpen(isOpen ? null : row.key)}
                    >
                      {columns.map((column) => (
                        <div role="cell" key={column.key} className={cellClass(column)}>
                          {column.cell(row)}
                        </div>
                      ))}
                    </div>
                    {isOpen ? (
                      <div role="cell" className="wt-detail">
                        {detail(row)}
                      </div>
                    ) : null}
                  </>
                )}
              </div>
            );
          })}
        </div>
      </div>
      {windows.count === 0 && !isOld ? <p className="empty">{empty}</p> : null}
    </div>
  );
}

function cellClass<R>(column: WindowColumn<R>): string {
  return [column.isNumber ? "num" : "", column.isMinor ? "minor" : ""].filter(Boolean).join(" ");
}

interface HeadProps<R> {
  readonly column: WindowColumn<R>;
  /** Ascending, or not; null = by another column. */
  readonly sorted: boolean | null;
  readonly onSort: (key: string, isAscending: boolean) => void;
}

function Head<R>({ column, sorted, onSort }: HeadProps<R>) {
  const words = (
    <Tip text={column.help ?? ""} className="">
      {column.label}
      {column.unit === undefined ? null : <span className="unit"> {column.unit}</span>}
    </Tip>
  );
  return (
    <div
      role="columnheader"
      className={cellClass(column)}
      aria-sort={sorted === null ? undefined : sorted ? "ascending" : "descending"}
    >
      {column.isSortable ? (
        <button
          type="button"
          onClick={() => onSort(column.key, sorted === null ? column.key === "name" : !sorted)}
        >
          {words}
          <span aria-hidden="true">{sorted === null ? "" : sorted ? "↑" : "↓"}</span>
        </button>
      ) : (
        words
      )}
    </div>
  );
}
