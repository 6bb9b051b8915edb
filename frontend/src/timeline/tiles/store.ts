/**
 * The tiles that are in memory, by lane block. Bounded by bytes: what was drawn longest ago goes
 * first, and the two coarsest levels last, which stand in for everything that is not there yet.
 */
import type { CounterTile } from "../frame/counters";
import type { SliceTile } from "../frame/slices";
import { tileKey } from "./grid";

export type AnyTile = SliceTile | CounterTile;

/** All tiles of one lane block of a track, or of one series. */
export interface LaneTiles<T extends AnyTile = AnyTile> {
  readonly type: T["type"];
  readonly source: number;
  /** Track or series. */
  readonly subject: number;
  /** First lane of the block; 0 for a series. */
  readonly lane: number;
  readonly tiles: Map<number, T>;
}

export type SliceTiles = LaneTiles<SliceTile>;
export type CounterTiles = LaneTiles<CounterTile>;

/** A tile that may be dropped. */
interface Candidate {
  readonly tiles: Map<number, AnyTile>;
  readonly key: number;
  readonly tile: AnyTile;
  /** It stands in for many that are not there. */
  readonly isCoarse: boolean;
}

/** Where evicting stops, so that it does not begin again with the next tile. */
const AFTER_EVICTION = 0.85;

export class TileStore {
  bytes = 0;
  tiles = 0;
  private readonly shelves = new Map<string, SliceTiles | CounterTiles>();
  private readonly coarsest = new Map<number, number>();

  constructor(private readonly capacity: number) {}

  /** This level and the one below it are kept as long as anything else can go. */
  setCoarsest(source: number, level: number): void {
    this.coarsest.set(source, level);
  }

  slices(source: number, track: number, lane: number): SliceTiles {
    return this.laneTiles<SliceTile>("slices", source, track, lane) as SliceTiles;
  }

  counter(source: number, series: number): CounterTiles {
    return this.laneTiles<CounterTile>("counter", source, series, 0) as CounterTiles;
  }

  private laneTiles<T extends AnyTile>(
    type: T["type"],
    source: number,
    subject: number,
    lane: number,
  ) {
    const key = `${type}/${source}/${subject}/${lane}`;
    let laneTiles = this.shelves.get(key);
    if (laneTiles === undefined) {
      laneTiles = { type, source, subject, lane, tiles: new Map() } as SliceTiles | CounterTiles;
      this.shelves.set(key, laneTiles);
    }
    return laneTiles;
  }

  put(source: number, tile: AnyTile, frame: number): void {
    const laneTiles =
      tile.type === "slices"
        ? this.slices(source, tile.track, tile.lane)
        : this.counter(source, tile.series);
    const tiles: Map<number, AnyTile> = laneTiles.tiles;
    const key = tileKey(tile.level, tile.tile);
    const earlier = tiles.get(key);
    if (earlier !== undefined) {
      this.bytes -= earlier.bytes;
      this.tiles -= 1;
    }
    tile.used = frame;
    tiles.set(key, tile);
    this.bytes += tile.bytes;
    this.tiles += 1;
  }

  /**
   * Drops what was not drawn lately until the rest fits: the coarsest levels last, and never what
   * this frame drew.
   */
  trim(frame: number): void {
    if (this.bytes <= this.capacity) {
      return;
    }
    const candidates: Candidate[] = [];
    for (const laneTiles of this.shelves.values()) {
      const coarse = (this.coarsest.get(laneTiles.source) ?? Number.POSITIVE_INFINITY) - 1;
      const tiles: Map<number, AnyTile> = laneTiles.tiles;
      for (const [key, tile] of tiles) {
        if (tile.used < frame) {
          candidates.push({ tiles, key, tile, isCoarse: tile.level >= coarse });
        }
      }
    }
    candidates.sort((a, b) => Number(a.isCoarse) - Number(b.isCoarse) || a.tile.used - b.tile.used);
    for (const { tiles, key, tile } of candidates) {
      if (this.bytes <= this.capacity * AFTER_EVICTION) {
        return;
      }
      tiles.delete(key);
      this.bytes -= tile.bytes;
      this.tiles -= 1;
    }
  }

  /** Forgets a source, for example because its layout is another one now. */
  drop(source: number): void {
    for (const [key, laneTiles] of this.shelves) {
      if (laneTiles.source === source) {
        for (const tile of laneTiles.tiles.values()) {
          this.bytes -= tile.bytes;
          this.tiles -= 1;
        }
        laneTiles.tiles.clear();
        this.shelves.delete(key);
      }
    }
  }
}
