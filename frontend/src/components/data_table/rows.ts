/** Where the rows of a table come from: a list sorted here, or the server in windows. */
import { useCallback, useMemo, useState } from "react";
import type { JsonPart } from "../../api/routes";
import type { PartAnswers, PartQueries } from "../../api/types.gen";
import { inOrder, ownValue } from "../../base/order";
import { type Asked, useParts } from "../../state/parts";

/** How rows are sorted by one column. */
export interface SortKey<R> {
  readonly key: string;
  /** At the right, and sorted from the largest first. */
  readonly isNumeric?: boolean;
  /** What `useSorted` sorts by; true: the row's own value of `key`, also where the server sorts. */
  readonly sort?: true | ((row: R) => string | number | null);
}

/** Rows of which some may be on their way. */
export interface Rows<R> {
  readonly count: number;
  /** undefined: on its way. */
  readonly rowAt: (index: number) => R | undefined;
  /** Hears which rows are in sight, and which has the focus. */
  readonly onRange?: (first: number, last: number, active: number) => void;
}

/** The column that a table is sorted by. */
export interface Sorting {
  readonly key: string;
  readonly isDown: boolean;
}

/** Rows by a column; those without a value come last, whatever the order. */
export function sortedRows<R>(
  rows: readonly R[],
  columns: readonly SortKey<R>[],
  sorting: Sorting | null,
): readonly R[] {
  const sort = columns.find(({ key }) => key === sorting?.key)?.sort;
  if (sorting === null || sort === undefined) {
    return rows;
  }
  const value = sort === true ? ownValue<R>(sorting.key) : sort;
  return inOrder(rows, value, !sorting.isDown);
}

/** What a `DataTable` needs for a list that is all here. */
export function useSorted<R>(
  rows: readonly R[],
  columns: readonly SortKey<R>[],
  start: Sorting | null,
) {
  const [sorting, onSort] = useState(start);
  const sorted = useMemo(() => sortedRows(rows, columns, sorting), [rows, columns, sorting]);
  return { rows: sorted, sorting, onSort };
}

const WINDOW = 200;

/** Offsets of the windows that hold these rows. */
export function offsetsOf(first: number, last: number, active: number): readonly number[] {
  const windowOf = (row: number) => Math.floor(row / WINDOW);
  const offsets = new Set([windowOf(active) * WINDOW]);
  for (let window = windowOf(first); window <= windowOf(last); window += 1) {
    offsets.add(window * WINDOW);
  }
  return [...offsets].sort((a, b) => a - b);
}

interface WindowOf<R> {
  readonly rows: readonly R[];
  readonly offset: number;
  readonly count: number;
}

/** The parts of views that answer with a window of a table. */
export type TablePart = {
  [P in JsonPart]: PartAnswers[P] extends WindowOf<unknown> ? P : never;
}[JsonPart];

export type RowOf<P extends TablePart> = PartAnswers[P]["rows"][number];

/**
 * A table that the server holds, in windows: those that hold what is in sight are asked for. `query`
 * null: there is nothing to ask.
 */
export function useWindows<P extends TablePart>(
  part: P,
  asked: Asked,
  query: Omit<PartQueries[P], "offset" | "limit"> | null,
) {
  const [offsets, setOffsets] = useState<readonly number[]>([0]);
  const onRange = useCallback((first: number, last: number, active: number) => {
    const next = offsetsOf(first, last, active);
    setOffsets((now) => (now.join() === next.join() ? now : next));
  }, []);
  const states = useParts(
    part,
    query === null
      ? []
      : offsets.map((offset) => ({
          asked,
          query: { ...query, offset, limit: WINDOW } as unknown as PartQueries[P],
        })),
  );
  const windows = states.flatMap(({ data }) => (data === undefined ? [] : [data]));
  const [known, setKnown] = useState(windows[0]);
  if (windows[0] !== undefined && windows[0] !== known) {
    setKnown(windows[0]);
  }
  const rowAt = (index: number): RowOf<P> | undefined =>
    windows.find(({ offset, rows }) => index >= offset && index < offset + rows.length)?.rows[
      index - Math.floor(index / WINDOW) * WINDOW
    ];
  return {
    /** A window of the answer, or of the one before it. */
    known: windows[0] ?? known,
    /** The rows that are here. */
    fetched: windows.flatMap(({ rows }): readonly RowOf<P>[] => rows),
    rows: { count: (windows[0] ?? known)?.count ?? 0, rowAt, onRange },
    isOld: windows.length === 0 && states.some(({ isLoading }) => isLoading),
    problem: states.find(({ problem }) => problem !== null)?.problem ?? null,
    again: () => {
      for (const { again } of states) {
        again();
      }
    },
  };
}
