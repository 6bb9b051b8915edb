/** The whole trace in a few hundred columns: how busy each track is. */
import { Columns, openFrame } from "./frame";

export interface MinimapTrack {
  /** Index in the manifest. */
  readonly track: number;
  /** 0 … 255 of each column is busy. */
  readonly busy: Uint8Array;
}

export function decodeMinimap(buffer: ArrayBuffer): MinimapTrack[] {
  return openFrame(buffer, "minimap").map((entry) => ({
    track: entry.getUint32(0, true),
    busy: new Columns(buffer, entry.getUint32(8, true)).u8(entry.getUint32(4, true)),
  }));
}
