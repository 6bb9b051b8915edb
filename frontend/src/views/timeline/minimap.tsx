/** The whole trace in a strip above the tracks: drag the frame, its edges, or a new one. */
import { useQueries } from "@tanstack/react-query";
import { type PointerEvent, useCallback, useMemo, useRef } from "react";
import { getPartBytes } from "../../api/routes";
import { count, time } from "../../base/format";
import { decodeMinimap } from "../../timeline/frame/minimap";
import type { Range } from "./link";
import { LiveCanvas, type Paint } from "./live_canvas";
import { type Band, bandsOf, paintMinimap } from "./paint_minimap";
import { documentTokens } from "./palette";
import { useStage, viewOf } from "./stage_context";

const COLUMNS = 1024;
const GRIP_PX = 7;
const AGAIN_MS = 700;

/** How busy each group of each source is; what has not come yet is left out. */
function useBands(): readonly Band[] {
  const { sources, link } = useStage();
  const results = useQueries({
    queries: sources.map(({ key, digest, manifest }) => ({
      queryKey: ["minimap", digest, key, manifest.layout],
      queryFn: ({ signal }: { signal: AbortSignal }) => {
        const query = { columns: COLUMNS, layout: manifest.layout };
        return getPartBytes("timeline/minimap", key, digest, query, signal);
      },
      refetchInterval: ({ state }: { state: { data?: { state: string } | undefined } }) =>
        state.data?.state === "reading" ? AGAIN_MS : (false as const),
    })),
  });
  const answers = results.map(({ data }) => data);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new array each time, of the same answers
  return useMemo(
    () =>
      sources.flatMap((source, place) => {
        const answer = answers[place];
        return answer?.state === "ready" ? bandsOf(source, decodeMinimap(answer.data)) : [];
      }),
    [sources, link.layout, ...answers],
  );
}

export function usePaintMinimap(): Paint {
  const { moving, whole, palette, search } = useStage();
  const bands = useBands();
  return useCallback(
    (context, width, height) =>
      paintMinimap(context, width, height, {
        bands,
        densities: search.densities,
        whole,
        view: viewOf(moving.frame.get()),
        palette,
        hitColor: documentTokens("--worse"),
        veil: `${documentTokens("--bg")}b3`,
      }),
    [bands, search.densities, whole, palette, moving],
  );
}

/** What a drag moves. */
type Grip = "start" | "end" | "both" | "new";

interface Drag {
  readonly grip: Grip;
  /** Instant where it began. */
  readonly from: number;
  readonly view: Range;
}

function gripAt(px: number, [left, right]: readonly [number, number]): Grip {
  if (Math.abs(px - left) <= GRIP_PX) {
    return "start";
  }
  if (Math.abs(px - right) <= GRIP_PX) {
    return "end";
  }
  return px > left && px < right ? "both" : "new";
}

function draggedTo({ grip, from, view }: Drag, at: number): Range {
  switch (grip) {
    case "start":
      return { start: Math.min(at, view.end - 1), end: view.end };
    case "end":
      return { start: view.start, end: Math.max(at, view.start + 1) };
    case "both":
      return { start: view.start + at - from, end: view.end + at - from };
    default:
      return { start: Math.min(from, at), end: Math.max(from, at) };
  }
}

const CURSORS: Readonly<Record<Grip, string>> = {
  start: "ew-resize",
  end: "ew-resize",
  both: "grab",
  new: "crosshair",
};

export function Minimap() {
  const { moving, whole, engine } = useStage();
  const paint = usePaintMinimap();
  const drag = useRef<Drag | null>(null);

  const place = (event: PointerEvent<HTMLCanvasElement>) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    const px = event.clientX - left;
    const perPx = (whole.end - whole.start) / Math.max(1, width);
    const view = viewOf(moving.frame.get());
    const edges = [(view.start - whole.start) / perPx, (view.end - whole.start) / perPx] as const;
    return { at: whole.start + px * perPx, grip: gripAt(px, edges), view, perPx };
  };
  const onPointerDown = (event: PointerEvent<HTMLCanvasElement>) => {
    if (event.button === 0) {
      const { at, grip, view } = place(event);
      event.currentTarget.setPointerCapture(event.pointerId);
      drag.current = { grip, from: at, view };
    }
  };
  const onPointerMove = (event: PointerEvent<HTMLCanvasElement>) => {
    const { at, grip } = place(event);
    if (drag.current === null) {
      event.currentTarget.style.cursor = CURSORS[grip];
    } else if (drag.current.grip !== "new") {
      const { start, end } = draggedTo(drag.current, at);
      engine?.show(start, end, true);
    }
  };
  const onPointerUp = (event: PointerEvent<HTMLCanvasElement>) => {
    if (drag.current?.grip === "new") {
      const { at, view, perPx } = place(event);
      const range = draggedTo(drag.current, at);
      // A press without a drag moves the view there.
      const half = (view.end - view.start) / 2;
      const isPress = range.end - range.start < 3 * perPx;
      const [start, end] = isPress ? [at - half, at + half] : [range.start, range.end];
      engine?.show(start, end);
    }
    drag.current = null;
  };
  const words = `Whole trace, ${time(whole.end - whole.start)}`;
  return (
    <div role="img" aria-label={words} className="tl-minimap">
      <LiveCanvas
        paint={paint}
        cells={[moving.frame]}
        onPointerDown={onPointerDown}
        onPointerMove={onPointerMove}
        onPointerUp={onPointerUp}
        onPointerCancel={() => {
          drag.current = null;
        }}
      />
    </div>
  );
}

export function MinimapTitle() {
  const { whole, sources, actions } = useStage();
  const events = sources.reduce((sum, { manifest }) => sum + manifest.events, 0);
  return (
    <button
      type="button"
      className="tl-whole"
      title="Show all of it (0)"
      onClick={() => actions.showWhole()}
    >
      <span>Whole trace</span>
      <span className="dim clip">
        {time(whole.end - whole.start)} · {count(events)} events
      </span>
    </button>
  );
}
