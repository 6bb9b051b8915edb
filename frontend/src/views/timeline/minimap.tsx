/** The whole trace in a strip above the tracks: drag the frame, its edges, or a new one. */
import { useQueries } from "@tanstack/react-query";
import { type PointerEvent, useEffect, useMemo, useRef } from "react";
import type { Answer } from "../../api/client";
import { getPartBytes } from "../../api/routes";
import { count, time } from "../../base/format";
import { decodeMinimap } from "../../timeline/frame/minimap";
import { decodeSliceTiles } from "../../timeline/frame/slices";
import { type BusyGroups, hostBusy, hostQuestion } from "./host_busy";
import type { Range } from "./link";
import { LiveCanvas, type Paint } from "./live_canvas";
import { type Band, deviceBusy, paintFrame, paintWhole } from "./paint_minimap";
import { documentTokens } from "./palette";
import type { Source } from "./sources";
import { useStage, viewOf } from "./stage_context";
import { useList } from "./use_list";

const COLUMNS = 1024;
const GRIP_PX = 7;
const AGAIN_MS = 700;

/** Bytes as they come, decoded: what is no frame is an error of the question. */
function decoded<T>(answer: Answer<ArrayBuffer>, decode: (bytes: ArrayBuffer) => T): Answer<T> {
  return answer.state === "ready" ? { state: "ready", data: decode(answer.data) } : answer;
}

const whileReading = ({ state }: { state: { data?: Answer<unknown> | undefined } }) =>
  state.data?.state === "reading" ? AGAIN_MS : (false as const);

function deviceQuery(source: Source) {
  const { key, digest, manifest } = source;
  const query = { columns: COLUMNS, layout: manifest.layout };
  return {
    queryKey: ["minimap devices", digest, key, query],
    queryFn: async ({ signal }: { signal: AbortSignal }) => {
      const answer = await getPartBytes("timeline/minimap", key, digest, query, signal);
      return decoded(answer, (bytes) => deviceBusy(manifest, decodeMinimap(bytes)));
    },
    refetchInterval: whileReading,
  };
}

function hostQuery(source: Source) {
  const { key, digest, manifest } = source;
  const question = hostQuestion(manifest);
  const { columns, ...tiles } = question ?? { level: 0, tiles: "0", blocks: "", columns: 1 };
  const query = { ...tiles, layout: manifest.layout };
  return {
    queryKey: ["minimap hosts", digest, key, query],
    queryFn: async ({ signal }: { signal: AbortSignal }) => {
      const answer = await getPartBytes("timeline/tiles", key, digest, query, signal);
      return decoded(answer, (bytes) => hostBusy(manifest, decodeSliceTiles(bytes), columns));
    },
    enabled: question !== null,
    refetchInterval: whileReading,
  };
}

const bandsFrom = (source: Source, isDevice: boolean, answer: Answer<BusyGroups> | undefined) =>
  answer?.state === "ready"
    ? [...answer.data.values()].map((busy): Band => ({ source, isDevice, busy }))
    : [];

/** How busy each group of each source is; what has not come yet is left out. */
function useBands(): readonly Band[] {
  const { sources } = useStage();
  const hosts = useQueries({ queries: sources.map(hostQuery) });
  const devices = useQueries({ queries: sources.map(deviceQuery) });
  const answers = useList([...hosts, ...devices].map(({ data }) => data));
  return useMemo(
    () =>
      sources.flatMap((source, place) => [
        ...bandsFrom(source, false, answers[place]),
        ...bandsFrom(source, true, answers[place + sources.length]),
      ]),
    [sources, answers],
  );
}

/** Paints once into a canvas of its own, and again only for another size. */
function kept(paint: Paint): Paint {
  const canvas = document.createElement("canvas");
  let drawn = "";
  return (context, width, height) => {
    const ratio = context.getTransform().a;
    const size = `${width} ${height} ${ratio}`;
    if (size !== drawn) {
      drawn = size;
      canvas.width = Math.max(1, Math.round(width * ratio));
      canvas.height = Math.max(1, Math.round(height * ratio));
      const own = canvas.getContext("2d");
      own?.scale(ratio, ratio);
      if (own !== null) {
        paint(own, width, height);
      }
    }
    context.drawImage(canvas, 0, 0, width, height);
  };
}

function usePaintMinimap(): Paint {
  const { moving, whole, palette, search } = useStage();
  const bands = useBands();
  const { densities } = search;
  return useMemo(() => {
    const hitColor = documentTokens("--worse");
    const veil = `${documentTokens("--bg")}b3`;
    const below = kept((context, width, height) =>
      paintWhole(context, width, height, { bands, densities, whole, palette, hitColor }),
    );
    return (context, width, height) => {
      below(context, width, height);
      const view = viewOf(moving.frame.get());
      paintFrame(context, width, height, { whole, view, palette, veil });
    };
  }, [bands, densities, whole, palette, moving]);
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
  useEffect(() => moving.paintMinimap.set(paint), [moving, paint]);
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
