/** What the panel below speaks of: the chosen area, else what is in view, of one source. */
import type { Range } from "./link";
import { trackList } from "./rows";
import type { Source } from "./sources";
import type { Stage } from "./stage_context";
import type { Rested } from "./use_rested";

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
  { link, model, sources }: Stage,
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
