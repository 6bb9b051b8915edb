/** The selected slice: what the server knows of it, and where it is drawn. */
import { useMemo } from "react";
import type { SliceDetails, SliceRef } from "../../../api/types.gen";
import { time } from "../../../base/text/format";
import { harmless } from "../../../base/text/shown_name";
import { NOBODY, usePart } from "../../../state/parts";
import type { PlacedSlice } from "../../../timeline/contract";
import { type RowModel, rowOfTrack } from "../tracks/rows";
import type { Link } from "./address";
import type { Selection } from "./context";
import type { Source } from "./sources";

export const placedOf = (slice: SliceRef, { source, offset }: Source): PlacedSlice => ({
  key: { source, slice: slice.slice },
  track: slice.track,
  lane: slice.lane,
  start: slice.ts + offset,
  end: slice.ts + slice.dur + offset,
});

/** `aten::mm, 412 µs, Main thread · ops, depth 6, step 3`, for those who listen. */
export function spoken({ slice, track_label, depth, step }: SliceDetails): string {
  const words = [
    harmless(slice.name, 200),
    time(slice.dur),
    harmless(track_label, 100),
    `depth ${depth}`,
    harmless(step, 60),
  ];
  return words.filter(Boolean).join(", ");
}

export function useSelection(
  { select, layout }: Link,
  sources: readonly Source[],
  model: RowModel,
): Selection | null {
  const [main] = sources;
  const source = sources.find((known) => known.source === select?.source);
  const asked = source ?? main ?? NOBODY;
  const query = select === null || source === undefined ? null : { slice: select.slice, layout };
  const { data, problem, again } = usePart("timeline/slice", asked, query);
  return useMemo(() => {
    if (select === null || source === undefined) {
      return null;
    }
    return {
      key: select,
      source,
      details: data,
      problem,
      again,
      row: data === undefined ? null : rowOfTrack(model, source.source, data.slice.track),
    };
  }, [select, source, data, problem, again, model]);
}
