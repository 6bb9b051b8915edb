/** Where the details have no room of their own, the panel opens with them at the first selection. */
import { useEffect, useRef } from "react";
import { useStage } from "./stage_context";

export function useNarrowDetails(): void {
  const { isNarrow, link, actions } = useStage();
  // Once somebody has closed the panel, it stays closed.
  const wasOpen = useRef(link.tab !== null);
  const isSelected = link.select !== null;
  useEffect(() => {
    if (isNarrow && isSelected && !wasOpen.current) {
      actions.openTab("details");
    }
  }, [isNarrow, isSelected, actions]);
  useEffect(() => {
    wasOpen.current = wasOpen.current || link.tab !== null;
  }, [link.tab]);
}
