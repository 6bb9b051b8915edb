/**
 * The layout of binary answers, which `views/timeline/tiles.py` writes: a header, a directory of entries
 * that say where their columns begin, columns.
 */
export const FRAME_KINDS = { tiles: 0, counters: 1, names: 2, minimap: 3 } as const;

export const HEADER_BYTES = 32;
export const ENTRY_BYTES = 64;
/** Where the header names the kind and the number of entries. */
export const KIND_AT = 6;
export const COUNT_AT = 8;

/** Where an entry names the beginnings of its columns; 0 where it has none. */
const OFFSETS_AT = [24, 28] as const;

/** Frames of one kind as one: its header, all entries, all columns. */
export function joinFrames(frames: readonly ArrayBuffer[]): ArrayBuffer {
  const [first] = frames;
  if (first === undefined || frames.length === 1) {
    return first ?? new ArrayBuffer(0);
  }
  const kind = new DataView(first).getUint16(KIND_AT, true);
  const parts = frames.map((frame) => {
    const count = new DataView(frame).getUint32(COUNT_AT, true);
    return { frame, count, head: HEADER_BYTES + count * ENTRY_BYTES };
  });
  const count = parts.reduce((sum, part) => sum + part.count, 0);
  const head = HEADER_BYTES + count * ENTRY_BYTES;
  const padded = (length: number) => Math.ceil(length / 8) * 8;
  const size = parts.reduce((sum, { frame, head }) => sum + padded(frame.byteLength - head), head);
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  bytes.set(new Uint8Array(first, 0, HEADER_BYTES));
  view.setUint32(COUNT_AT, count, true);
  let entryAt = HEADER_BYTES;
  let bodyAt = head;
  for (const part of parts) {
    bytes.set(new Uint8Array(part.frame, HEADER_BYTES, part.head - HEADER_BYTES), entryAt);
    for (let i = 0; i < part.count; i += 1) {
      for (const place of kind === FRAME_KINDS.tiles ? OFFSETS_AT : OFFSETS_AT.slice(0, 1)) {
        const at = entryAt + i * ENTRY_BYTES + place;
        view.setUint32(at, view.getUint32(at, true) + bodyAt - part.head, true);
      }
    }
    entryAt += part.head - HEADER_BYTES;
    bytes.set(new Uint8Array(part.frame, part.head), bodyAt);
    bodyAt += padded(part.frame.byteLength - part.head);
  }
  return bytes.buffer;
}
