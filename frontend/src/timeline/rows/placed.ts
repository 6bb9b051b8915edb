/** Which rows are on the canvas and where, for the shell to put their labels there. */
import type { PlacedRow } from "../contract";
import type { RowStack } from "./layout";

/** Rows so far beside the canvas are told as well, so that labels are there before they are seen. */
const BESIDE_PX = 100;

/** The rows in view: the same array for as long as none of them moved. */
export class PlacedRows {
  private pinned: RowStack | null = null;
  private rows: RowStack | null = null;
  private scrollY = 0;
  private height = 0;
  private placed: readonly PlacedRow[] = [];

  of(pinned: RowStack, rows: RowStack, scrollY: number, height: number): readonly PlacedRow[] {
    const isSame = pinned === this.pinned && rows === this.rows;
    if (!isSame || scrollY !== this.scrollY || height !== this.height) {
      Object.assign(this, { pinned, rows, scrollY, height });
      this.placed = placedRows(pinned, rows, scrollY, height);
    }
    return this.placed;
  }
}

export function placedRows(
  pinned: RowStack,
  rows: RowStack,
  scrollY: number,
  height: number,
): PlacedRow[] {
  const edge = Math.min(pinned.height, height);
  return [
    ...within(pinned, 0, 0, edge),
    ...within(rows, edge - scrollY, edge - BESIDE_PX, height + BESIDE_PX),
  ];
}

function within(stack: RowStack, offset: number, from: number, to: number): PlacedRow[] {
  const placed: PlacedRow[] = [];
  const begin = Math.max(0, stack.indexAt(from - offset));
  for (let i = begin; i < stack.rows.length; i += 1) {
    const top = offset + stack.top(i);
    if (top >= to) {
      break;
    }
    const row = stack.rows[i];
    const height = stack.top(i + 1) - stack.top(i);
    if (row !== undefined && height > 0) {
      placed.push({ row, top, height });
    }
  }
  return placed;
}
