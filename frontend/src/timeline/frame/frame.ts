/**
 * Binary answers of the Trace view: a header, a directory, and columns that are looked at in place.
 *
 * Nothing in a frame is believed: each length and offset is checked against the bytes that came.
 */
import { COUNT_AT, ENTRY_BYTES, FRAME_KINDS, HEADER_BYTES, KIND_AT } from "../../api/frames";

export type FrameKind = keyof typeof FRAME_KINDS;

/** A tile has so many buckets, a lane block so many lanes. */
export const TILE_BUCKETS = 512;
export const LANE_BLOCK = 16;

const MAGIC = 0x31464c54; // "TLF1"
const VERSION = 1;

/** A frame that is not what it says; the text says in which way. */
export class FrameError extends Error {
  override readonly name = "FrameError";
}

/** Columns are read as they lie in memory, which is right on every machine that runs a browser. */
const isLittleEndian = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

/** The entries of a frame whose header and directory are sound. */
export function openFrame(buffer: ArrayBuffer, kind: FrameKind): readonly DataView[] {
  if (!isLittleEndian) {
    throw new FrameError("this machine's byte order is not supported");
  }
  if (buffer.byteLength < HEADER_BYTES) {
    throw new FrameError(`${buffer.byteLength} bytes are less than a header`);
  }
  const head = new DataView(buffer);
  if (head.getUint32(0, true) !== MAGIC) {
    throw new FrameError("it does not begin as a timeline frame does");
  }
  if (head.getUint16(4, true) !== VERSION) {
    throw new FrameError(`version ${head.getUint16(4, true)} is not ${VERSION}: reload the page`);
  }
  if (head.getUint16(KIND_AT, true) !== FRAME_KINDS[kind]) {
    throw new FrameError(`it is of kind ${head.getUint16(KIND_AT, true)}, not ${kind}`);
  }
  const count = head.getUint32(COUNT_AT, true);
  if (HEADER_BYTES + count * ENTRY_BYTES > buffer.byteLength) {
    throw new FrameError(`its directory of ${count} entries is cut off`);
  }
  return Array.from(
    { length: count },
    (_, i) => new DataView(buffer, HEADER_BYTES + i * ENTRY_BYTES, ENTRY_BYTES),
  );
}

/** Takes columns one after the other; each begins at a multiple of 8. */
export class Columns {
  private place: number;

  constructor(
    private readonly buffer: ArrayBuffer,
    offset: number,
  ) {
    if (offset % 8 !== 0) {
      throw new FrameError(`columns begin at ${offset}, which is no multiple of 8`);
    }
    this.place = offset;
  }

  u8 = (length: number) => new Uint8Array(this.buffer, this.take(length, 1), length);
  u16 = (length: number) => new Uint16Array(this.buffer, this.take(length, 2), length);
  u32 = (length: number) => new Uint32Array(this.buffer, this.take(length, 4), length);
  f32 = (length: number) => new Float32Array(this.buffer, this.take(length, 4), length);
  f64 = (length: number) => new Float64Array(this.buffer, this.take(length, 8), length);

  private take(length: number, size: number): number {
    const begin = this.place;
    const end = begin + length * size;
    if (end > this.buffer.byteLength) {
      throw new FrameError(`a column ends at ${end} of ${this.buffer.byteLength} bytes`);
    }
    this.place = Math.ceil(end / 8) * 8;
    return begin;
  }
}

/** A part of a frame in memory of its own, so that the rest of the frame need not be kept. */
export function cutOut(buffer: ArrayBuffer, offset: number, length: number): ArrayBuffer {
  if (offset % 8 !== 0 || offset + length > buffer.byteLength) {
    throw new FrameError(`columns at ${offset} of ${buffer.byteLength} bytes are cut off`);
  }
  return buffer.slice(offset, offset + length);
}

/** How many bytes columns of these widths take, each but the last padded to 8. */
export function columnBytes(...columns: readonly (readonly [length: number, size: number])[]) {
  let end = 0;
  for (const [length, size] of columns) {
    end = Math.ceil(end / 8) * 8 + length * size;
  }
  return end;
}

/** Throws unless the offsets begin at 0, never fall and end at `count`. */
export function checkOffsets(first: Uint32Array, count: number): void {
  let before = 0;
  for (const offset of first) {
    if (offset < before) {
      throw new FrameError("the lanes of a block overlap");
    }
    before = offset;
  }
  if (first[0] !== 0 || before !== count) {
    throw new FrameError("the lanes of a block are not all of its records");
  }
}
