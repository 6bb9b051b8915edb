/** A long table in windows: the ones that hold what is seen are asked for. */
import { useCallback, useState } from "react";

export const WINDOW = 200;

export interface WindowOf<R> {
  readonly rows: readonly R[];
  readonly offset: number;
  readonly count: number;
}

/** Offsets of the windows that hold these rows. */
export function offsetsOf(first: number, last: number): readonly number[] {
  const start = Math.floor(first / WINDOW) * WINDOW;
  const offsets = [];
  for (let offset = start; offset <= Math.max(last, start); offset += WINDOW) {
    offsets.push(offset);
  }
  return offsets;
}

/** Which windows to ask for; `onRange` tells what is seen. */
export function useOffsets(): [readonly number[], (first: number, last: number) => void] {
  const [offsets, setOffsets] = useState<readonly number[]>([0]);
  const onRange = useCallback((first: number, last: number) => {
    const next = offsetsOf(first, last);
    setOffsets((now) => (now.join() === next.join() ? now : next));
  }, []);
  return [offsets, onRange];
}

/** The row of an index among windows, undefined where it is not there yet. */
export function rowAmong<R>(
  windows: readonly (WindowOf<R> | undefined)[],
  index: number,
): R | undefined {
  for (const one of windows) {
    const row = one?.rows[index - one.offset];
    if (one !== undefined && index >= one.offset && row !== undefined) {
      return row;
    }
  }
  return undefined;
}
