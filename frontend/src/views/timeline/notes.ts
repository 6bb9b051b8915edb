/** Notes of the user on the time axis, and their text for the address. */
import type { Marker } from "../../timeline/contract";

export type Note = Marker;

/** Longer than this, a link would be cut by what it is pasted into. */
export const LINK_MAX = 1200;

const escaped = (text: string) => text.replaceAll("!", "!e").replaceAll("~", "!t");
const unescaped = (text: string) => text.replaceAll("!t", "~").replaceAll("!e", "!");

/** `500_900_slow here~1200__first step`: start, end or nothing, text. */
export const formatNotes = (notes: readonly Note[]): string =>
  notes
    .map(({ at, end, text }) =>
      [Math.round(at), end === null ? "" : Math.round(end), escaped(text)].join("_"),
    )
    .join("~");

export function parseNotes(text: string | undefined): readonly Note[] {
  return (text ?? "").split("~").flatMap((piece, place): Note[] => {
    const match = /^(-?\d{1,19})_(-?\d{1,19})?_(.*)$/s.exec(piece);
    if (match === null) {
      return [];
    }
    const end = match[2] === undefined ? null : Number(match[2]);
    return [{ id: `note-${place}`, at: Number(match[1]), end, text: unescaped(match[3] ?? "") }];
  });
}
