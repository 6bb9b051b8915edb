/** Tiles of slices: rectangles drawn one by one, and buckets of those too short for it. */
import {
  Columns,
  checkOffsets,
  columnBytes,
  cutOut,
  FrameError,
  LANE_BLOCK,
  openFrame,
} from "./frame";

/** Bits of a rectangle. */
export const SLICE_FLAGS = {
  overlap: 1,
  incomplete: 2,
  flow: 4,
  children: 8,
  fromLeft: 16,
  toRight: 32,
} as const;

/** What one tile shows of up to 16 lanes of a track. `x` counts buckets from its left edge. */
export interface SliceTile {
  readonly type: "slices";
  readonly track: number;
  /** First lane, counted within the track. */
  readonly lane: number;
  readonly lanes: number;
  readonly level: number;
  readonly tile: number;
  readonly rectFirst: Uint32Array;
  readonly x0: Float32Array;
  readonly x1: Float32Array;
  readonly rect: Uint32Array;
  readonly rectName: Uint32Array;
  readonly rectKind: Uint8Array;
  readonly rectFlags: Uint8Array;
  readonly bucketFirst: Uint32Array;
  readonly count: Uint32Array;
  readonly longest: Uint32Array;
  readonly bucketName: Uint32Array;
  readonly x: Uint16Array;
  readonly bucketKind: Uint8Array;
  readonly busy: Uint8Array;
  /** How many slices begin in it, and their summed ns: exact. */
  readonly slices: number;
  readonly sumNs: number;
  readonly bytes: number;
  /** Number of the frame that drew it last. */
  used: number;
}

/** Of the object itself and its views, roughly. */
const OVERHEAD_BYTES = 1200;

export function decodeSliceTiles(buffer: ArrayBuffer): SliceTile[] {
  return openFrame(buffer, "tiles").map((entry) => decodeEntry(buffer, entry));
}

function decodeEntry(buffer: ArrayBuffer, entry: DataView): SliceTile {
  const lanes = entry.getUint8(6);
  if (lanes === 0 || lanes > LANE_BLOCK) {
    throw new FrameError(`a block of ${lanes} lanes`);
  }
  const rects = decodeRects(buffer, entry.getUint32(24, true), lanes, entry.getUint32(8, true));
  const buckets = decodeBuckets(
    buffer,
    entry.getUint32(28, true),
    lanes,
    entry.getUint32(12, true),
  );
  return {
    type: "slices",
    track: entry.getUint32(0, true),
    lane: entry.getUint16(4, true),
    lanes,
    level: entry.getUint8(7),
    tile: entry.getFloat64(16, true),
    ...rects,
    ...buckets,
    slices: entry.getFloat64(32, true),
    sumNs: entry.getFloat64(40, true),
    bytes: rects.x0.buffer.byteLength + buckets.x.buffer.byteLength + OVERHEAD_BYTES,
    used: 0,
  };
}

function decodeRects(buffer: ArrayBuffer, offset: number, lanes: number, n: number) {
  const length = columnBytes([lanes + 1, 4], [n, 4], [n, 4], [n, 4], [n, 4], [n, 1], [n, 1]);
  const columns = new Columns(n === 0 ? noRecords(length) : cutOut(buffer, offset, length), 0);
  const rectFirst = columns.u32(lanes + 1);
  checkOffsets(rectFirst, n);
  return {
    rectFirst,
    x0: columns.f32(n),
    x1: columns.f32(n),
    rect: columns.u32(n),
    rectName: columns.u32(n),
    rectKind: columns.u8(n),
    rectFlags: columns.u8(n),
  };
}

function decodeBuckets(buffer: ArrayBuffer, offset: number, lanes: number, n: number) {
  const length = columnBytes([lanes + 1, 4], [n, 4], [n, 4], [n, 4], [n, 2], [n, 1], [n, 1]);
  const columns = new Columns(n === 0 ? noRecords(length) : cutOut(buffer, offset, length), 0);
  const bucketFirst = columns.u32(lanes + 1);
  checkOffsets(bucketFirst, n);
  return {
    bucketFirst,
    count: columns.u32(n),
    longest: columns.u32(n),
    bucketName: columns.u32(n),
    x: columns.u16(n),
    bucketKind: columns.u8(n),
    busy: columns.u8(n),
  };
}

/** Lanes of nothing: what the frame holds there does not matter. */
const noRecords = (length: number) => new ArrayBuffer(Math.ceil(length / 8) * 8);
