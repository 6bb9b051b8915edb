/**
 * The table of every view: a grid of which only the rows in sight are drawn.
 *
 * A view gives columns, rows and callbacks:
 *
 *     const columns: readonly Column<File>[] = [
 *       { key: "path", head: "File", grow: 3, sort: (file) => file.path, cell: (file) => file.path },
 *       numberColumn("bytes", "Size", (file) => bytes(file.bytes), { sort: (file) => file.bytes }),
 *     ];
 *     const sorted = useSorted(files, columns, null);
 *     <DataTable label="Files" columns={columns} {...sorted} keyOf={(file) => file.path}
 *       toPlain={toPlain} empty="No files." />
 *
 * Rows are an array, or `Rows` of which parts are still to come (`useWindows`). A table that the server
 * sorts, with filters, a column menu and a copy of all its rows, is a `PartTable`.
 *
 * What a row does: `onChoose` leads somewhere; `expanded` and `onExpand` open it, on a `detail` of its
 * own or, with `levelOf`, on the rows below it in a tree.
 *
 * Keys: one row takes the Tab key. ↑ ↓ Home End PageUp PageDown move, Enter and Space choose or open, →
 * opens or goes to the first row inside, ← closes or goes to the row outside, Esc closes, Ctrl+C copies
 * the row. The head stays above the rows and the first column beside them, whatever is scrolled.
 */
import { measureElement, type Range, useVirtualizer } from "@tanstack/react-virtual";
import {
  type CSSProperties,
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { textWidth, useWidth } from "../../base/measure";
import { adoptStyles } from "../../base/style/styles";
import { type PlainTable, toTsv } from "../../base/text/delimited";
import { walked } from "../../base/walk";
import { useCopy } from "../controls/copy_button";
import { Heading } from "./heading";
import type { Rows, Sorting, SortKey } from "./rows";
import tableCss from "./table.css?inline";

adoptStyles(tableCss);

export interface Column<R> extends SortKey<R> {
  readonly head: string;
  /** The unit of all its figures, beside the head. */
  readonly unit?: string;
  /** What the figures mean, on hover and focus of the head. */
  readonly help?: string;
  /** The least width in px. The words of the head need more, or not. */
  readonly width?: number;
  /** Its share of the width that is left, 1 unless given. */
  readonly grow?: number;
  /** One of the figures that the rows are looked at for: where not all fit, behind the name. */
  readonly isMain?: boolean;
  readonly cell: (row: R) => ReactNode;
}

/** A column of figures that the table can be sorted by. */
export const numberColumn = <R,>(
  key: string,
  head: string,
  cell: Column<R>["cell"],
  more: Partial<Column<R>> = {},
): Column<R> => ({ key, head, cell, isNumeric: true, sort: true, ...more });

interface DataTableProps<R> {
  readonly label: string;
  readonly columns: readonly Column<R>[];
  readonly rows: readonly R[] | Rows<R>;
  readonly keyOf: (row: R) => string | number;
  /** null: in the order in which the rows come. */
  readonly sorting: Sorting | null;
  readonly onSort: (sorting: Sorting) => void;
  readonly onChoose?: (row: R) => void;
  readonly isChosen?: (row: R) => boolean;
  /** Hears which row the pointer or the focus is on; null: none. */
  readonly onPoint?: (row: R | null) => void;
  /** Whether a row is open; undefined: there is nothing to open. */
  readonly expanded?: (row: R) => boolean | undefined;
  readonly onExpand?: (row: R, isExpanded: boolean) => void;
  /** What an open row shows below itself. */
  readonly detail?: (row: R) => ReactNode;
  /** How deep a row lies in a tree, from 0. */
  readonly levelOf?: (row: R) => number;
  /** Rows as text, in full precision. */
  readonly toPlain: (rows: readonly R[]) => PlainTable;
  /** What stands there when there are no rows. */
  readonly empty: ReactNode;
  /** The rows belong to an earlier question, or there are none yet. */
  readonly isOld?: boolean;
}

const ROW = 25;
const HEAD = 29;
const HEAD_FONT = '500 11px system-ui, "Segoe UI", Roboto, "Liberation Sans", sans-serif';
/** The sign of the order, and the gap before it. */
const ORDER_SIGN = 14;
const LEAST_WIDTH = 60;
const GAP = 10;
const INDENT = 12;
/** A stack may be a thousand deep. */
const MOST_INDENTS = 30;

/** The least width of a column: that of the words of its head, or more. */
function leastOf<R>({ head, unit = "", sort, width = LEAST_WIDTH }: Column<R>): number {
  const words = textWidth(`${head} ${unit}`.trim(), HEAD_FONT);
  return Math.max(width, Math.ceil(words) + (sort === undefined ? 2 : ORDER_SIGN));
}

/** Whether the columns are wider than the room even at their least; a room of 0 is not known yet. */
function isTight<R>(columns: readonly Column<R>[], room: number): boolean {
  const least = columns.reduce((sum, column) => sum + leastOf(column) + GAP, 0);
  return room > 0 && least > room;
}

/** The part of the room that a first column of names has where the others are scrolled to. */
const NAMES = 0.36;

/** The tracks of the columns in the grid. */
export function tracksOf<R>(columns: readonly Column<R>[], room: number): string {
  const names = isTight(columns, room) ? Math.floor(room * NAMES) : 0;
  return columns
    .map((column, place) => {
      const { grow = 1 } = column;
      const least = Math.max(leastOf(column), place === 0 && grow > 1 ? names : 0);
      return grow === 0 ? `${least}px` : `minmax(${least}px, ${grow}fr)`;
    })
    .join(" ");
}

/** Columns in their order; where they are wider than the room, the main ones behind the first. */
export function placed<R>(columns: readonly Column<R>[], room: number): readonly Column<R>[] {
  const [first, ...others] = columns;
  if (first === undefined || !isTight(columns, room)) {
    return columns;
  }
  const isMain = (column: Column<R>) => column.isMain === true;
  return [first, ...others.filter(isMain), ...others.filter((column) => !isMain(column))];
}

const cellClass = <R,>({ isNumeric }: Column<R>) => (isNumeric === true ? "num clip" : "clip");

interface HeadProps<R> {
  readonly column: Column<R>;
  readonly sorting: Sorting | null;
  readonly onSort: (sorting: Sorting) => void;
}

function Head<R>({ column, sorting, onSort }: HeadProps<R>) {
  const { key, head, unit, help = "", isNumeric = false, sort } = column;
  const isDown = sorting?.key === key ? sorting.isDown : null;
  return (
    <Heading
      className={cellClass(column)}
      order={isDown === null ? null : isDown ? "descending" : "ascending"}
      help={help}
      {...(sort === undefined
        ? {}
        : { onSort: () => onSort({ key, isDown: !(isDown ?? !isNumeric) }) })}
    >
      {head}
      {unit === undefined ? null : <span className="unit"> {unit}</span>}
      {isDown === null ? null : <span aria-hidden="true">{isDown ? "↓" : "↑"}</span>}
    </Heading>
  );
}

/** What a key means to a row. */
type Act = "choose" | "open" | "close" | "inside" | "outside" | "copy" | null;

type Acts = Readonly<Record<"leaf" | "closed" | "open", Readonly<Record<string, Act>>>>;

const ACTS: Acts = {
  leaf: {},
  closed: { ArrowRight: "open" },
  open: { ArrowLeft: "close", Escape: "close" },
};
const TREE_ACTS: Acts = {
  leaf: { ArrowLeft: "outside" },
  closed: { ArrowLeft: "outside", ArrowRight: "open" },
  open: { ArrowLeft: "close", ArrowRight: "inside" },
};

function actOf(event: KeyboardEvent, isOpen: boolean | undefined, isTree: boolean): Act {
  const { key } = event;
  if (event.ctrlKey || event.metaKey) {
    const isText = document.getSelection()?.type === "Range";
    return key.toLowerCase() === "c" && !isText ? "copy" : null;
  }
  const state = isOpen === undefined ? "leaf" : isOpen ? "open" : "closed";
  const act = (isTree ? TREE_ACTS : ACTS)[state][key] ?? null;
  return key === "Enter" || key === " " ? "choose" : act;
}

/** The row that a row of a tree lies in; null for one at the top. */
function outerRow<R>({ rowAt }: Rows<R>, at: number, levelOf: (row: R) => number): number | null {
  const levelAt = (index: number) => {
    const row = rowAt(index);
    return row === undefined ? 0 : levelOf(row);
  };
  const level = levelAt(at);
  let above = at - 1;
  while (above >= 0 && levelAt(above) >= level) {
    above -= 1;
  }
  return above < 0 ? null : above;
}

interface MarkProps {
  readonly isOpen: boolean | undefined;
  readonly level: number;
  readonly onToggle: () => void;
}

/** Before a row that can be opened, further in the deeper it lies. */
function Mark({ isOpen, level, onToggle }: MarkProps) {
  return (
    <span
      className={isOpen === undefined ? "dt-mark none" : "dt-mark"}
      style={{ marginLeft: Math.min(level, MOST_INDENTS) * INDENT }}
      aria-hidden="true"
      onClick={(event) => {
        event.stopPropagation();
        onToggle();
      }}
    >
      {isOpen === true ? "▾" : "▸"}
    </span>
  );
}

interface BodyRowProps<R> {
  readonly table: DataTableProps<R>;
  readonly row: R;
  readonly index: number;
  readonly isActive: boolean;
  readonly grid: CSSProperties;
  readonly onFocus: () => void;
  readonly onPress: () => void;
  readonly onKeyDown: (event: KeyboardEvent) => void;
}

function BodyRow<R>(props: BodyRowProps<R>) {
  const { table, row, index, isActive, grid, onFocus, onPress, onKeyDown } = props;
  const { columns, expanded, onExpand, levelOf, isChosen, onPoint, detail } = table;
  const isOpen = expanded?.(row);
  const level = levelOf?.(row);
  return (
    <>
      <tr
        className="dt-cells"
        style={grid}
        aria-rowindex={index + 2}
        aria-level={level === undefined ? undefined : level + 1}
        aria-expanded={isOpen}
        aria-selected={isChosen?.(row)}
        data-row={index}
        tabIndex={isActive ? 0 : -1}
        onClick={onPress}
        onMouseEnter={() => onPoint?.(row)}
        onMouseLeave={() => onPoint?.(null)}
        onFocus={() => {
          onFocus();
          onPoint?.(row);
        }}
        onBlur={() => onPoint?.(null)}
        onKeyDown={onKeyDown}
      >
        {columns.map((column, place) => (
          <td key={column.key} className={cellClass(column)}>
            {place === 0 && expanded !== undefined ? (
              <Mark
                isOpen={isOpen}
                level={level ?? 0}
                onToggle={() => onExpand?.(row, isOpen !== true)}
              />
            ) : null}
            {column.cell(row)}
          </td>
        ))}
      </tr>
      {isOpen === true && detail !== undefined ? (
        <tr className="dt-detail">
          <td colSpan={columns.length}>{detail(row)}</td>
        </tr>
      ) : null}
    </>
  );
}

/** Indexes in sight and some beyond, and the one that takes the Tab key, which is always drawn. */
function drawnRows({ startIndex, endIndex, overscan, count }: Range, active: number): number[] {
  const first = Math.max(0, startIndex - overscan);
  const last = Math.min(count - 1, endIndex + overscan);
  const drawn = Array.from({ length: last - first + 1 }, (_, place) => first + place);
  return active < first ? [active, ...drawn] : active > last ? [...drawn, active] : drawn;
}

const COPY_WORDS = {
  idle: "",
  done: "Row copied",
  refused: "Copying is not allowed here",
} as const;

const rowsOf = <R,>(rows: readonly R[]): Rows<R> => ({
  count: rows.length,
  rowAt: (at) => rows[at],
});

export function DataTable<R>(given: DataTableProps<R>) {
  const [box, room] = useWidth<HTMLDivElement>();
  const columns = useMemo(() => placed(given.columns, room), [given.columns, room]);
  const props = { ...given, columns };
  const { label, keyOf, sorting, expanded, onExpand, levelOf, isOld = false } = props;
  const rows: Rows<R> = "rowAt" in given.rows ? given.rows : rowsOf(given.rows);
  const { count, rowAt, onRange } = rows;
  const scroll = useRef<HTMLDivElement>(null);
  const isWalking = useRef(false);
  const [wanted, setActive] = useState(0);
  const active = Math.max(0, Math.min(wanted, count - 1));
  const [copyState, copy] = useCopy();
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW,
    overscan: 10,
    paddingStart: HEAD,
    scrollPaddingStart: HEAD,
    initialRect: { width: 1200, height: 480 },
    getItemKey: (at) => {
      const row = rowAt(at);
      return row === undefined ? `row ${at}` : keyOf(row);
    },
    rangeExtractor: (range) => drawnRows(range, active),
    // Only what is open is as high as its content.
    measureElement: (element, entry, instance) =>
      element.childElementCount > 1 ? measureElement(element, entry, instance) : ROW,
  });
  const { startIndex: first = 0, endIndex: last = 0 } = virtual.range ?? {};
  // Rows drawn ahead are for scrolling; at rest nothing of them is there to press or to tab to.
  const isAtRest = virtual.range !== null && !virtual.isScrolling;
  const headEnd = (virtual.scrollOffset ?? 0) + HEAD;
  useEffect(() => onRange?.(first, last, active), [onRange, first, last, active]);
  useLayoutEffect(() => {
    if (isWalking.current) {
      isWalking.current = false;
      const row = scroll.current?.querySelector<HTMLElement>(`[data-row="${active}"]`);
      row?.focus({ preventScroll: true });
    }
  });
  const grid = useMemo(() => ({ gridTemplateColumns: tracksOf(columns, room) }), [columns, room]);

  const onSort = (next: Sorting) => {
    setActive(0);
    virtual.scrollToOffset(0);
    props.onSort(next);
  };
  const goTo = (at: number) => {
    isWalking.current = true;
    setActive(at);
    virtual.scrollToIndex(at);
  };
  const choose = (row: R) => {
    const isOpen = expanded?.(row);
    if (props.onChoose !== undefined) {
      props.onChoose(row);
    } else if (isOpen !== undefined) {
      onExpand?.(row, !isOpen);
    }
  };
  const run = (act: Act, at: number, row: R) => {
    const outer = act === "outside" && levelOf !== undefined ? outerRow(rows, at, levelOf) : null;
    if (act === "choose") {
      choose(row);
    } else if (act === "copy") {
      copy(
        toTsv(props.toPlain([row]))
          .split("\n")
          .at(-1) ?? "",
      );
    } else if (act === "open" || act === "close") {
      onExpand?.(row, act === "open");
    } else if (act === "inside" || outer !== null) {
      goTo(outer ?? at + 1);
    }
  };
  const onKeyDown = (at: number, row: R) => (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget || event.altKey) {
      return;
    }
    const page = Math.max(1, Math.floor(((scroll.current?.clientHeight ?? 0) - HEAD) / ROW));
    const to = walked(event.key, at, count, ["ArrowUp", "ArrowDown"], page);
    const act = to === null ? actOf(event, expanded?.(row), levelOf !== undefined) : null;
    if (to !== null) {
      goTo(to);
    } else if (act !== null) {
      run(act, at, row);
    } else {
      return;
    }
    event.preventDefault();
  };

  let drawnTo = HEAD;
  return (
    <div ref={box} className="fill dt-box">
      <div ref={scroll} className={isOld ? "dt-scroll stale" : "dt-scroll"}>
        <table
          role={expanded === undefined ? "grid" : "treegrid"}
          className="dt"
          aria-label={label}
          aria-rowcount={count + 1}
          aria-busy={isOld}
          style={{ height: virtual.getTotalSize() }}
          onFocus={({ target }) => {
            // The browser takes for visible what lies below the first column.
            if (target.closest(".dt-cells > td:not(:first-child)") !== null) {
              target.scrollIntoView?.({ block: "nearest", inline: "nearest" });
            }
          }}
        >
          <thead>
            <tr style={grid}>
              {columns.map((column) => (
                <Head key={column.key} column={column} sorting={sorting} onSort={onSort} />
              ))}
            </tr>
          </thead>
          {virtual.getVirtualItems().map(({ index, key, start, end }) => {
            const row = rowAt(index);
            // In the flow: what opens in a row moves those below it at once.
            const gap = start - drawnTo;
            drawnTo = end;
            const isChosen = row !== undefined && props.isChosen?.(row) === true;
            const isAhead = isAtRest && (end <= headEnd || index > last);
            return (
              <tbody
                key={key}
                ref={virtual.measureElement}
                data-index={index}
                className={`dt-row${isChosen ? " chosen" : ""}${isAhead ? " ahead" : ""}`}
                style={gap > 0 ? { marginTop: gap } : undefined}
              >
                {row === undefined ? (
                  <tr className="dt-cells" style={grid} aria-rowindex={index + 2}>
                    <td className="dim">…</td>
                  </tr>
                ) : (
                  <BodyRow
                    table={props}
                    row={row}
                    index={index}
                    isActive={index === active}
                    grid={grid}
                    onFocus={() => setActive(index)}
                    onPress={() => {
                      if (document.getSelection()?.type !== "Range") {
                        choose(row);
                      }
                    }}
                    onKeyDown={onKeyDown(index, row)}
                  />
                )}
              </tbody>
            );
          })}
        </table>
        {count > 0 ? null : <p className="empty">{isOld ? "Reading…" : props.empty}</p>}
      </div>
      <span className="dt-said" role="status">
        {COPY_WORDS[copyState]}
      </span>
    </div>
  );
}
