/** Where the camera should go: pure arithmetic of ranges. */
import type { Range } from "./link";

/** Share of the width left free at each side of what is fitted. */
const MARGIN = 0.08;
const SMALL_PX = 6;

export const lengthOf = ({ start, end }: Range): number => end - start;

/** The range with some room around it. */
export function withMargin(range: Range, margin = MARGIN): Range {
  const room = Math.max(1, lengthOf(range)) * margin;
  return { start: range.start - room, end: range.end + room };
}

export const isInside = (inner: Range, outer: Range): boolean =>
  inner.start >= outer.start && inner.end <= outer.end;

/**
 * Where to look so that a slice can be seen: nowhere else when it can be already; the same scale
 * around it when it fits there and is not too thin; else it is fitted.
 */
export function revealed(slice: Range, view: Range, width: number): Range | null {
  const nsPerPx = lengthOf(view) / Math.max(1, width);
  const px = lengthOf(slice) / nsPerPx;
  if (px > width * 0.9) {
    const isWithin = slice.start <= view.start && slice.end >= view.end;
    return isWithin || isInside(slice, view) ? null : withMargin(slice);
  }
  if (px < SMALL_PX) {
    return around(slice, Math.max(lengthOf(slice), 1) * 12);
  }
  return isInside(slice, view) ? null : around(slice, lengthOf(view));
}

/** A view of this length with the middle of the range at a third: what follows is worth more room. */
export function around(range: Range, length: number): Range {
  const middle = (range.start + range.end) / 2;
  const start = middle - length * 0.4;
  return { start, end: start + length };
}

/** Slices too short to see get room: at least so many ns around an instant. */
export function fitted(slice: Range): Range {
  const length = Math.max(lengthOf(slice), 1);
  return withMargin({ start: slice.start, end: slice.start + length }, 0.15);
}
