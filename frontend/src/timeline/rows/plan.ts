/** Rows together with the tiles they are drawn from, looked up once per change of the rows. */
import type { TimelineRow } from "../contract";
import { LANE_BLOCK } from "../frame/frame";
import type { SourceState } from "../tiles/sources";
import type { CounterTiles, SliceTiles, TileStore } from "../tiles/store";
import { type CounterRow, RowStack, type TrackRow } from "./layout";

export interface TrackPlan {
  readonly type: "track";
  readonly row: TrackRow;
  readonly source: SourceState;
  /** By lane block of the track: lane ÷ 16. */
  readonly shelves: readonly SliceTiles[];
}

export interface CounterPlan {
  readonly type: "counter";
  readonly row: CounterRow;
  readonly source: SourceState;
  readonly laneTiles: CounterTiles;
}

export type RowPlan = TrackPlan | CounterPlan | null;

export class Plan {
  readonly stack: RowStack;
  readonly rows: readonly RowPlan[];
  private readonly tracks = new Map<string, number>();

  constructor(
    rows: readonly TimelineRow[],
    sources: ReadonlyMap<number, SourceState>,
    store: TileStore,
  ) {
    this.stack = new RowStack(rows);
    this.rows = rows.map((row) => planOf(row, sources, store));
    this.rows.forEach((row, i) => {
      if (row?.type === "track" && !this.tracks.has(trackKey(row.row.source, row.row.track))) {
        this.tracks.set(trackKey(row.row.source, row.row.track), i);
      }
    });
  }

  /** Index of the row that shows a track; −1 = none does. */
  indexOfTrack(source: number, track: number): number {
    return this.tracks.get(trackKey(source, track)) ?? -1;
  }
}

const trackKey = (source: number, track: number) => `${source}/${track}`;

function planOf(
  row: TimelineRow,
  sources: ReadonlyMap<number, SourceState>,
  store: TileStore,
): RowPlan {
  const source = row.type === "heading" ? undefined : sources.get(row.source);
  if (row.type === "heading" || source === undefined) {
    return null;
  }
  if (row.type === "counter") {
    return { type: "counter", row, source, laneTiles: store.counter(row.source, row.series) };
  }
  const blocks = Math.ceil(row.lanes / LANE_BLOCK);
  const shelves = Array.from({ length: blocks }, (_, block) =>
    store.slices(row.source, row.track, block * LANE_BLOCK),
  );
  return { type: "track", row, source, shelves };
}
