import { trackList } from "../tracks/rows";
import type { Range } from "./address";
import type { Rested, TimelineContext } from "./context";
import type { Source } from "./sources";

/** What the panel below speaks of: the chosen area, else what is in view, of one source. */

export interface Scope {
  readonly source: Source;
  /** On the axis of the view. */
  readonly range: Range;
  readonly isArea: boolean;
  /** For requests; "" = all. */
  readonly tracks: string;
  /** "2 tracks", "all tracks". */
  readonly words: string;
  /** It covers rows, but none that holds slices. */
  readonly isBare: boolean;
}

export interface ScopeQuery {
  readonly start_ns: number;
  readonly end_ns: number;
  readonly tracks: string;
}

/** In the time of its own recording. */
export const scopeQuery = ({ source, range, tracks }: Scope): ScopeQuery => ({
  start_ns: Math.round(range.start - source.offset),
  end_ns: Math.max(
    Math.round(range.end - source.offset),
    Math.round(range.start - source.offset) + 1,
  ),
  tracks,
});

const wordsOf = (count: number) => (count === 1 ? "1 track" : `${count} tracks`);

/** `sourceNumber` is the user's choice among several. */
export function scopeOf(
  { link, model, sources }: TimelineContext,
  rested: Rested | null,
  sourceNumber: number,
): Scope | null {
  const { area } = link;
  const ids = new Set(area?.rows ?? []);
  const covered = [...model.infos.values()].filter(({ id }) => ids.has(id));
  // The source that the area lies upon, unless another one was chosen.
  const own = covered[0]?.source.source;
  const source =
    sources.find((known) => known.source === (sourceNumber >= 0 ? sourceNumber : own)) ??
    sources[0];
  const range = area ?? rested?.view ?? null;
  if (range === null) {
    return null;
  }
  const rows = covered.filter((info) => info.source.source === source.source);
  const tracks = rows.flatMap(({ trackIndex }) => (trackIndex >= 0 ? [trackIndex] : []));
  const isAll = area === null || covered.length === 0;
  return {
    source,
    range,
    isArea: area !== null,
    tracks: isAll ? "" : trackList(tracks, source.manifest.tracks.length),
    words: isAll ? "all tracks" : wordsOf(tracks.length),
    isBare: !isAll && tracks.length === 0,
  };
}

/** Where the camera should go: pure arithmetic of ranges. */

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
