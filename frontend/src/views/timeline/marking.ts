/** Marks and notes: of the selection, else of the area, else of the middle of the view. */
import type { Marker } from "../../timeline/contract";
import type { Note } from "./notes";
import { type Stage, viewOf } from "./stage_context";

interface Spot {
  readonly at: number;
  readonly end: number | null;
  readonly text: string;
}

function spotOf({ selection, link, moving }: Stage): Spot {
  const { details, source } = selection ?? {};
  if (details !== undefined && source !== undefined) {
    const at = details.slice.ts + source.offset;
    return { at, end: at + details.slice.dur, text: details.slice.name.slice(0, 60) };
  }
  if (link.area !== null) {
    return { at: link.area.start, end: link.area.end, text: "" };
  }
  const { start, end } = viewOf(moving.frame.get());
  return { at: (start + end) / 2, end: null, text: "" };
}

export const markOf = (stage: Stage): Marker => ({ id: "mark", ...spotOf(stage) });

export const keptNote = (stage: Stage): Note => ({
  id: `note-${stage.link.notes.length}`,
  ...spotOf(stage),
});
