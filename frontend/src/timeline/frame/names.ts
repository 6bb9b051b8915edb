/** Names of slices, by code. */
import { Columns, FrameError, openFrame } from "./frame";

export interface NameRange {
  readonly first: number;
  readonly texts: readonly string[];
}

export function decodeNames(buffer: ArrayBuffer): NameRange {
  const entry = openFrame(buffer, "names")[0];
  if (entry === undefined) {
    throw new FrameError("names without an entry");
  }
  const count = entry.getUint32(4, true);
  const ends = new Columns(buffer, entry.getUint32(8, true)).u32(count);
  const bytes = new Columns(buffer, entry.getUint32(12, true)).u8(ends[count - 1] ?? 0);
  const decoder = new TextDecoder();
  const texts: string[] = [];
  let begin = 0;
  for (const end of ends) {
    if (end < begin) {
      throw new FrameError("the texts of names overlap");
    }
    texts.push(decoder.decode(bytes.subarray(begin, end)));
    begin = end;
  }
  return { first: entry.getUint32(0, true), texts };
}
