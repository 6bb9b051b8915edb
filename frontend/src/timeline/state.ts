/** What the timeline shows, as the shell and the pointer last said. It draws and fetches nothing. */
import type { Extents } from "./camera/view";
import type {
  Area,
  Hit,
  Marker,
  MouseMode,
  PlacedSlice,
  TimelineArrow,
  TimelineRow,
  TimelineSource,
} from "./contract";
import { Plan } from "./rows/plan";
import { SourceState } from "./tiles/sources";
import { TileStore } from "./tiles/store";

const TILE_CAPACITY_BYTES = 96 * 2 ** 20;

export class State {
  readonly store = new TileStore(TILE_CAPACITY_BYTES);
  readonly sources = new Map<number, SourceState>();
  pinned = new Plan([], this.sources, this.store);
  rows = new Plan([], this.sources, this.store);
  mode: MouseMode = "select";
  hover: Hit | null = null;
  selection: PlacedSlice | null = null;
  area: Area | null = null;
  measure: Area | null = null;
  zoomBand: Area | null = null;
  arrows: readonly TimelineArrow[] = [];
  markers: readonly Marker[] = [];
  steps: readonly number[] = [];
  origin = 0;
  pointer: { readonly x: number; readonly y: number } | null = null;
  private highlight: ReadonlyMap<number, ReadonlySet<number>> | null = null;

  /** Takes over the sources; says which are new, or other traces than before, and which are gone. */
  setSources(sources: readonly TimelineSource[]): { fresh: SourceState[]; gone: number[] } {
    const kept = new Map(this.sources);
    const fresh: SourceState[] = [];
    const gone = new Set(kept.keys());
    this.sources.clear();
    for (const source of sources) {
      const earlier = kept.get(source.source);
      const isSame = earlier?.isSameTrace(source) === true;
      const state = new SourceState(source, isSame ? earlier.names : undefined);
      this.sources.set(source.source, state);
      this.store.setCoarsest(source.source, state.coarsest);
      if (isSame) {
        gone.delete(source.source);
      } else {
        fresh.push(state);
      }
    }
    for (const source of gone) {
      this.store.drop(source);
    }
    this.setRows(this.pinned.stack.rows, this.rows.stack.rows);
    this.setHighlight(this.highlight);
    return { fresh, gone: [...gone] };
  }

  setRows(pinned: readonly TimelineRow[], rows: readonly TimelineRow[]): void {
    this.pinned = new Plan(pinned, this.sources, this.store);
    this.rows = new Plan(rows, this.sources, this.store);
  }

  setHighlight(names: ReadonlyMap<number, ReadonlySet<number>> | null): void {
    this.highlight = names;
    for (const [id, source] of this.sources) {
      source.names.highlight(names === null ? null : (names.get(id) ?? new Set()));
    }
  }

  /** What there is to see on a canvas of this size. */
  extents(width: number, height: number): Extents {
    let low = Number.POSITIVE_INFINITY;
    let high = Number.NEGATIVE_INFINITY;
    for (const { source, offset } of this.sources.values()) {
      low = Math.min(low, source.startNs + offset);
      high = Math.max(high, source.endNs + offset);
    }
    const isEmpty = low > high;
    return {
      low: isEmpty ? 0 : low,
      high: isEmpty ? 1 : high,
      width,
      height,
      rowsHeight: this.rows.stack.height,
      pinnedHeight: Math.min(height, this.pinned.stack.height),
    };
  }
}
