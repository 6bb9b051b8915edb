/** Tiles of counters: the extremes of each bucket, so that no peak is lost. */
import { Columns, columnBytes, cutOut, openFrame } from "./frame";

/** What one tile shows of a series of values. `x` counts buckets from its left edge. */
export interface CounterTile {
  readonly type: "counter";
  readonly series: number;
  readonly level: number;
  readonly tile: number;
  /** The value that holds at the left edge; NaN before the first sample. */
  readonly before: number;
  readonly x: Uint16Array;
  readonly low: Float64Array;
  readonly high: Float64Array;
  readonly last: Float64Array;
  readonly mean: Float64Array;
  readonly bytes: number;
  /** Number of the frame that drew it last. */
  used: number;
}

const OVERHEAD_BYTES = 600;

export function decodeCounterTiles(buffer: ArrayBuffer): CounterTile[] {
  return openFrame(buffer, "counters").map((entry) => {
    const n = entry.getUint32(8, true);
    const length = columnBytes([n, 2], [n, 8], [n, 8], [n, 8], [n, 8]);
    const own = n === 0 ? new ArrayBuffer(0) : cutOut(buffer, entry.getUint32(24, true), length);
    const columns = new Columns(own, 0);
    return {
      type: "counter",
      series: entry.getUint32(0, true),
      level: entry.getUint8(7),
      tile: entry.getFloat64(16, true),
      before: entry.getFloat64(32, true),
      x: columns.u16(n),
      low: columns.f64(n),
      high: columns.f64(n),
      last: columns.f64(n),
      mean: columns.f64(n),
      bytes: own.byteLength + OVERHEAD_BYTES,
      used: 0,
    };
  });
}
