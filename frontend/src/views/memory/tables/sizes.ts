/** Sizes as people type them, and the words for times that a range or a recording does not hold. */
import type { MemoryEventRow } from "../../../api/types.gen";
import type { TimeRange } from "../choice";

const POWERS: Readonly<Record<string, number>> = { "": 0, b: 0, k: 1, m: 2, g: 3, t: 4 };

/** `10 MiB`, `10m`, `1.5 GB`, `4096` in bytes, as `parse_size` of the command reads them: MB is a
 * million, MiB and M alone 1,048,576. Null where it is no size. */
export function parseBytes(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?|\.\d+)\s*(b|([kmgt])(i?b)?)?$/i.exec(
    text.trim().replaceAll(",", ""),
  );
  if (match === null) {
    return null;
  }
  const power = POWERS[(match[3] ?? "").toLowerCase()] ?? 0;
  const base = match[4]?.toLowerCase() === "b" ? 1000 : 1024;
  const size = Math.round(Number(match[1]) * base ** power);
  return Number.isSafeInteger(size) ? size : null;
}

/** Why there is no time of allocation. */
export const beforeWords = (row: MemoryEventRow) =>
  row.life_start_ns === null ? "before recording" : "before range";

/** Why there is no time of release. */
export function afterWords(row: MemoryEventRow, { end }: TimeRange): string {
  if (row.life_end_ns === null) {
    return "after recording";
  }
  return row.life_end_ns >= end ? "after range" : "not recorded";
}
