/** Follows a link that names something instead of a place: a slice, or a name to be found. */
import { useEffect, useRef } from "react";
import { useCell } from "../../state/cell";
import { useValues } from "../../state/environment";
import { useStage } from "./stage_context";

export function useFollow(): void {
  const { selection, search, link, change, actions, moving } = useStage();
  const begun = useCell(moving.begun);
  const values = useValues();
  // With a range in the address, the link says for itself where to look.
  const isPlaced = values["timeline.at"] !== undefined;
  const wish = useRef<"slice" | "name" | null>(
    isPlaced ? null : link.select !== null ? "slice" : link.find !== "" ? "name" : null,
  );
  // A link to somewhere else while the view is open: its address has no range of ours either.
  const followed = useRef(values);
  useEffect(() => {
    const before = followed.current;
    followed.current = values;
    if (isPlaced || before["timeline.at"] === undefined) {
      return;
    }
    if (values["timeline.select"] !== undefined) {
      wish.current = "slice";
    } else if (values["timeline.find"] !== undefined) {
      wish.current = "name";
    }
  }, [values, isPlaced]);
  const { details, source } = selection ?? {};
  useEffect(() => {
    if (!begun) {
      return;
    }
    if (wish.current === "slice" && details !== undefined && source !== undefined) {
      if (details.slice.track < 0 && link.layout === "user") {
        // It names a frame of a library: all frames are shown, or nothing would be seen of it.
        change({ layout: "split" });
        return;
      }
      wish.current = null;
      actions.goTo(source, details.slice);
    } else if (wish.current === "name" && search.slices > 0) {
      wish.current = null;
      actions.hit(true);
    }
  }, [begun, details, source, search, actions, link.layout, change]);
}
