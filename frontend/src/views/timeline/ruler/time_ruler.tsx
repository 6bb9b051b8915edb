/** The ruler above the tracks. */

import { useCallback, useEffect, useMemo } from "react";
import { textWidth } from "../../../base/measure";
import { contrast } from "../../../base/style/kind_hues";
import { LiveCanvas, type Paint } from "../../../components/charts/live_canvas";
import { useCell } from "../../../state/cell";
import type { Unit } from "../state/address";
import { type Frame, type TimelineContext, useTimelineContext, viewOf } from "../state/context";
import { paintRuler, type RulerModel, rulerModel } from "./ruler";

export const CANVAS_FONT = '11px system-ui, "Segoe UI", Roboto, "Liberation Sans", sans-serif';

/** Asked for several times a frame: the last answer is kept. */
let last: {
  frame: Frame;
  unit: Unit;
  sources: TimelineContext["sources"];
  model: RulerModel;
} | null = null;

/** The ruler as it is for a place of the camera. */
export function rulerOf({ sources, link: { unit } }: TimelineContext, frame: Frame): RulerModel {
  if (last?.frame === frame && last.unit === unit && last.sources === sources) {
    return last.model;
  }
  const [{ manifest }] = sources;
  const model = rulerModel({
    view: viewOf(frame),
    nsPerPx: frame.camera.nsPerPx,
    unit,
    steps: manifest.steps,
    baseNs: manifest.base_ns,
  });
  last = { frame, unit, sources, model };
  return model;
}

/** `hasPointer`: whether the place of the pointer is marked. */
export function usePaintRuler(hasPointer: boolean): Paint {
  const timeline = useTimelineContext();
  const { palette, moving, link } = timeline;
  const inkOnAccent = contrast(palette.accent, "#ffffff") >= 4.5 ? "#ffffff" : "#0d1014";
  return useCallback(
    (context, width, height) => {
      const frame = moving.frame.get();
      const hovered = hasPointer ? moving.hover.get() : null;
      const view = viewOf(frame);
      const mark = moving.mark.get();
      paintRuler(context, width, height, {
        model: rulerOf(timeline, frame),
        view,
        palette,
        font: CANVAS_FONT,
        area: moving.measured.get() ?? moving.draft.get() ?? link.area,
        pointer: hovered === null ? null : view.start + hovered.x * frame.camera.nsPerPx,
        inkOnAccent,
        markers: mark === null ? link.notes : [...link.notes, mark],
      });
    },
    [timeline, palette, moving, link.area, link.notes, inkOnAccent, hasPointer],
  );
}

const UNIT_WORDS = {
  step: "since the step",
  trace: "since the start of the trace",
  wall: "wall clock",
} as const;

/** What the numbers are; a press shows them in another unit. */
export function RulerTitle() {
  const timeline = useTimelineContext();
  const { moving, link, change, engine } = timeline;
  const origin = useCell(moving.frame, (frame) => rulerOf(timeline, frame).origin);
  const title = useCell(moving.frame, (frame) => rulerOf(timeline, frame).title);
  useEffect(() => engine?.setOrigin(origin), [engine, origin]);
  const next = { step: "trace", trace: "wall", wall: "step" } as const;
  const isLong = useMemo(() => textWidth(title, CANVAS_FONT) > 170, [title]);
  return (
    <button
      type="button"
      className="tl-unit"
      title={`${title}\nPress (or T) for ${UNIT_WORDS[next[link.unit]]}`}
      onClick={() => change({ unit: next[link.unit] })}
    >
      <span className={isLong ? "clip small-type" : "clip"}>{title}</span>
    </button>
  );
}

export function TimeRuler() {
  const { moving } = useTimelineContext();
  const paint = usePaintRuler(true);
  return (
    <LiveCanvas
      className="tl-ruler"
      aria-hidden="true"
      paint={paint}
      cells={[moving.frame, moving.hover, moving.draft, moving.measured, moving.mark]}
    />
  );
}
