/** Opens the canvas in its place, and tells it what the rest of the view knows. */
import { type RefObject, useEffect, useRef, useState } from "react";
import { routeUrl } from "../../api/client";
import { usePageVisible } from "../../state/visibility";
import type {
  PlacedSlice,
  Timeline,
  TimelineArrow,
  TimelineListener,
  TimelinePalette,
  TimelineSource,
} from "../../timeline/contract";
import { openTimeline } from "../../timeline/engine";
import type { Source } from "./sources";

/** What the canvas needs to fetch the tiles of a source. */
export function engineSource({ source, key, digest, manifest, offset }: Source): TimelineSource {
  const query = new URLSearchParams({ ...key, digest });
  return {
    source,
    base: routeUrl("api/view/timeline/"),
    query: query.toString(),
    layout: manifest.layout,
    offset,
    startNs: manifest.start_ns,
    endNs: manifest.end_ns,
    nameCount: manifest.name_count,
  };
}

/** The canvas, once it is open. `listener` may change; the latest is told. */
export function useEngine(
  place: RefObject<HTMLElement | null>,
  listener: TimelineListener,
  palette: TimelinePalette,
): Timeline | null {
  const [engine, setEngine] = useState<Timeline | null>(null);
  const latest = useRef(listener);
  const first = useRef(palette);
  const visible = usePageVisible();
  useEffect(() => {
    latest.current = listener;
  });
  useEffect(() => {
    const element = place.current;
    if (element === null) {
      return;
    }
    const opened = openTimeline(
      element,
      {
        onCamera: (camera, rows, size) => latest.current.onCamera(camera, rows, size),
        onHover: (hit, x, y) => latest.current.onHover(hit, x, y),
        onSelect: (hit, isDouble) => latest.current.onSelect(hit, isDouble),
        onArea: (area, isDone) => latest.current.onArea(area, isDone),
        onMeasure: (area) => latest.current.onMeasure(area),
        onArrow: (arrow) => latest.current.onArrow(arrow),
        onLoading: (pending) => latest.current.onLoading(pending),
        onProblem: (message) => latest.current.onProblem(message),
      },
      first.current,
    );
    setEngine(opened);
    return () => {
      setEngine(null);
      opened.close();
    };
  }, [place]);
  useEffect(() => engine?.setPalette(palette), [engine, palette]);
  useEffect(() => engine?.setActive(visible), [engine, visible]);
  return engine;
}

/** What is drawn above the tracks. */
export interface Drawn {
  readonly selection: PlacedSlice | null;
  readonly arrows: readonly TimelineArrow[];
}
