/** The canvas in a view: opened in its place, in these colours, at rest while unseen. */
import { type RefObject, useEffect, useRef, useState } from "react";
import { routeUrl } from "../api/client";
import type { TraceKey } from "../api/routes";
import type { TimelineManifest } from "../api/types.gen";
import { usePageVisible } from "../state/host/visibility";
import type { Timeline, TimelineListener, TimelinePalette, TimelineSource } from "./contract";
import { openTimeline } from "./engine";

/** A recording with its layout, as a view has it. */
interface Placed {
  /** Its number on the canvas. */
  readonly source: number;
  readonly key: TraceKey;
  readonly digest: string;
  readonly manifest: TimelineManifest;
  /** ns to add to its times. */
  readonly offset: number;
}

/** What the canvas needs to fetch the tiles of a recording. */
export function engineSource({ source, key, digest, manifest, offset }: Placed): TimelineSource {
  return {
    source,
    base: routeUrl("api/view/timeline/"),
    query: new URLSearchParams({ ...key, digest }).toString(),
    layout: manifest.layout,
    offset,
    startNs: manifest.start_ns,
    endNs: manifest.end_ns,
    nameCount: manifest.name_count,
  };
}

/** The canvas, once it is open. It is opened anew for another listener. */
export function useEngine(
  place: RefObject<HTMLElement | null>,
  listener: TimelineListener,
  palette: TimelinePalette,
): Timeline | null {
  const [engine, setEngine] = useState<Timeline | null>(null);
  const first = useRef(palette);
  const visible = usePageVisible();
  useEffect(() => {
    const element = place.current;
    if (element === null) {
      return;
    }
    const opened = openTimeline(element, listener, first.current);
    setEngine(opened);
    return () => {
      setEngine(null);
      opened.close();
    };
  }, [place, listener]);
  useEffect(() => engine?.setPalette(palette), [engine, palette]);
  useEffect(() => engine?.setActive(visible), [engine, visible]);
  return engine;
}
