import { useEffect, useRef } from "react";
import { chosenIndexes } from "../../../base/steps";
import { useCell } from "../../../state/cell";
import { useAddress, useValues } from "../../../state/host/environment";
import { usePage } from "../../../state/page_context";
import type { Timeline } from "../../../timeline/contract";
import { formatRange, type Link, parseRange, type Range } from "./address";
import { type Frame, type Moving, onRest, useTimelineContext, viewOf } from "./context";
import { withMargin } from "./range";
import type { Source } from "./sources";

/** Keeps the camera and the address in step: what is shown can be copied, and a link is followed. */

const SETTLE_MS = 250;

/** From the first to the last of the chosen steps; null without a choice. */
export function rangeOfSteps(
  { manifest }: Source,
  steps: readonly { index: number; number: number; excluded: string | null }[],
  parameter: string | undefined,
): Range | null {
  const chosen = parameter === undefined ? null : chosenIndexes(steps, parameter);
  const marks = manifest.steps.filter((step) => chosen?.has(step.index));
  if (marks.length === 0) {
    return null;
  }
  return {
    start: Math.min(...marks.map((mark) => mark.ts)),
    end: Math.max(...marks.map((mark) => mark.end)),
  };
}

interface CameraLink {
  readonly engine: Timeline | null;
  readonly moving: Moving;
  readonly whole: Range;
  readonly main: Source;
  readonly link: Link;
}

/** Moves the camera where the address says, and writes down where it rests. */
export function useCameraLink({ engine, moving, whole, main, link }: CameraLink): void {
  const address = useAddress();
  const values = useValues();
  const { shown } = usePage();
  const written = useRef<string | undefined>(undefined);
  const at = values["timeline.at"];
  const steps = values["steps"];
  const stepRange = rangeOfSteps(main, shown?.trace?.steps ?? [], steps);
  const stepText = stepRange === null ? "" : formatRange(stepRange);

  // Where to begin: the address, else the chosen steps or area, else all of it.
  const begun = useRef<Timeline | null>(null);
  const begin = () => {
    const stated = parseRange(at);
    const chosen = link.area === null ? stepRange : withMargin(link.area);
    const range = stated ?? (chosen === null ? withMargin(whole, 0.01) : withMargin(chosen, 0.03));
    engine?.show(range.start, range.end, true);
    const y = Number(values["timeline.y"] ?? 0);
    if (engine !== null && y > 0 && Number.isFinite(y)) {
      engine.scroll(y - engine.camera().scrollY);
    }
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each canvas
  useEffect(() => {
    if (engine !== null && begun.current !== engine) {
      begun.current = engine;
      written.current = at;
      begin();
      moving.begun.set(true);
    }
  }, [engine]);

  // A link within the page, or a step of the browser's history.
  useEffect(() => {
    if (engine !== null && begun.current === engine && at !== written.current) {
      written.current = at;
      const range = parseRange(at);
      if (range !== null) {
        engine.show(range.start, range.end, true);
      }
    }
  }, [engine, at]);

  // Another choice of steps while the view is open.
  const seen = useRef(stepText);
  useEffect(() => {
    if (stepText !== seen.current) {
      seen.current = stepText;
      const range = parseRange(stepText);
      if (range !== null) {
        const { start, end } = withMargin(range, 0.03);
        engine?.show(start, end);
      }
    }
  }, [engine, stepText]);

  useEffect(() => {
    const write = (frame: Frame) => {
      const text = formatRange(viewOf(frame));
      const y = Math.round(frame.camera.scrollY);
      written.current = text;
      address.replace({ "timeline.at": text, "timeline.y": y > 0 ? String(y) : undefined });
    };
    return onRest(moving.frame, SETTLE_MS, write);
  }, [address, moving]);
}

/** Follows a link that names something instead of a place: a slice, or a name to be found. */

export function useFollow(): void {
  const { selection, search, link, change, actions, moving } = useTimelineContext();
  const begun = useCell(moving.begun);
  const values = useValues();
  // With a range in the address, the link says for itself where to look.
  const isPlaced = values["timeline.at"] !== undefined;
  const tileRequest = useRef<"slice" | "name" | null>(
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
      tileRequest.current = "slice";
    } else if (values["timeline.find"] !== undefined) {
      tileRequest.current = "name";
    }
  }, [values, isPlaced]);
  const { details, source } = selection ?? {};
  useEffect(() => {
    if (!begun) {
      return;
    }
    if (tileRequest.current === "slice" && details !== undefined && source !== undefined) {
      if (details.slice.track < 0 && link.frames === "user") {
        // It names a frame of a library: all frames are shown, or nothing would be seen of it.
        change({ frames: "split" });
        return;
      }
      tileRequest.current = null;
      actions.goTo(source, details.slice);
    } else if (tileRequest.current === "name" && search.slices > 0) {
      tileRequest.current = null;
      actions.hit(true);
    }
  }, [begun, details, source, search, actions, link.frames, change]);
}

/** Where the streams of graphs are folded or unfolded, what is selected stays in sight. */
export function useSelectionInSight(): void {
  const { selection, sources, link, actions } = useTimelineContext();
  const { is_folded: isFolded, layout } = sources[0].manifest;
  const seen = useRef(isFolded);
  const { details, source } = selection ?? {};
  useEffect(() => {
    // Until both are of the layout that the address names, its row is not known.
    if (layout !== link.layout || (selection !== null && details === undefined)) {
      return;
    }
    if (seen.current !== isFolded && details !== undefined && source !== undefined) {
      actions.goTo(source, details.slice);
    }
    seen.current = isFolded;
  }, [isFolded, layout, link.layout, selection, details, source, actions]);
}

/** Where the details have no room of their own, the panel opens with them at the first selection. */

export function useNarrowDetails(): void {
  const { isNarrow, link, actions } = useTimelineContext();
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
