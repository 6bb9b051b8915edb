import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, type ReactNode, useEffect, useMemo, useRef } from "react";
import { textWidth } from "../../base/measure";
import { walked } from "../../base/walk";
import { Tip } from "../overlays/tip";

/** The head of a column: what it is called, what it means, and whether the table goes by it. */

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

/**
 * A long table that the server holds: rows come in windows, only what can be seen is drawn, and a
 * row opens in place. Sorting is the server's, too.
 */

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
const HEAD = 28;
const HEAD_FONT = '500 11px system-ui, "Segoe UI", Roboto, "Liberation Sans", sans-serif';
/** The sign of the order, and the gap before it. */
const ORDER_SIGN = 14;

/** The track of a column in the grid: never narrower than the words of its head. */
function trackOf<R>({ label, unit, isSortable, width }: WindowColumn<R>): string {
  const words = unit === undefined ? label : `${label} ${unit}`;
  const head = Math.ceil(textWidth(words, HEAD_FONT)) + (isSortable ? ORDER_SIGN : 2);
  return width.replace(
    /^minmax\((\d+)px/,
    (_, least: string) => `minmax(${Math.max(Number(least), head)}px`,
  );
}

/** What a key does to the row that has the focus. */
function openedBy(key: string, row: string, opened: string | null): string | null | undefined {
  if (key === "Enter" || key === " ") {
    return opened === row ? null : row;
  }
  if (key === "ArrowRight") {
    return row;
  }
  return opened === row && (key === "ArrowLeft" || key === "Escape") ? null : undefined;
}

export function WindowTable<R extends { readonly key: string }>(props: WindowTableProps<R>) {
  const { label, columns, windows, sortBy, isAscending, onSort, opened, onOpen, isOld } = props;
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
  const tracks = useMemo(() => columns.map(trackOf).join(" "), [columns]);
  const grid = { gridTemplateColumns: tracks };

  const focusRow = (index: number) => {
    virtual.scrollToIndex(index);
    requestAnimationFrame(() =>
      scroll.current?.querySelector<HTMLElement>(`[data-row="${index}"]`)?.focus(),
    );
  };
  const onKeyDown = (event: KeyboardEvent<HTMLTableRowElement>, index: number, row: R) => {
    if (event.target !== event.currentTarget) {
      return;
    }
    const target = walked(event.key, index, windows.count, ["ArrowUp", "ArrowDown"]);
    const next = openedBy(event.key, row.key, opened);
    if (target !== null) {
      event.preventDefault();
      focusRow(target);
    } else if (next !== undefined) {
      event.preventDefault();
      onOpen(next);
    }
  };

  return (
    <div ref={scroll} className={isOld ? "wt-scroll stale" : "wt-scroll"}>
      <table
        // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: its rows can be opened
        role="treegrid"
        className="wt"
        aria-label={label}
        aria-rowcount={windows.count + 1}
        style={{ height: virtual.getTotalSize() + HEAD }}
      >
        <thead>
          <tr style={grid}>
            {columns.map((column) => (
              <WindowHead
                key={column.key}
                column={column}
                sorted={sortBy === column.key ? isAscending : null}
                onSort={onSort}
              />
            ))}
          </tr>
        </thead>
        {items.map((item, place) => {
          const row = windows.rowAt(item.index);
          const isOpen = row !== undefined && row.key === opened;
          return (
            <tbody
              key={item.key}
              ref={virtual.measureElement}
              data-index={item.index}
              className={isOpen ? "wt-row open" : "wt-row"}
              // In the flow: what opens in a row moves those below it at once.
              style={place === 0 ? { marginTop: item.start } : undefined}
            >
              {row === undefined ? (
                <tr className="wt-cells" style={grid} aria-rowindex={item.index + 2}>
                  <td className="dim">…</td>
                </tr>
              ) : (
                <tr
                  className="wt-cells"
                  style={grid}
                  aria-rowindex={item.index + 2}
                  aria-expanded={isOpen}
                  data-row={item.index}
                  tabIndex={item.index === 0 || isOpen ? 0 : -1}
                  onClick={() => onOpen(isOpen ? null : row.key)}
                  onKeyDown={(event) => onKeyDown(event, item.index, row)}
                >
                  {columns.map((column) => (
                    <td key={column.key} className={cellClass(column)}>
                      {column.cell(row)}
                    </td>
                  ))}
                </tr>
              )}
              {isOpen ? (
                <tr className="wt-detail">
                  <td colSpan={columns.length}>{props.detail(row)}</td>
                </tr>
              ) : null}
            </tbody>
          );
        })}
      </table>
      {windows.count === 0 && !isOld ? <p className="empty">{props.empty}</p> : null}
    </div>
  );
}
