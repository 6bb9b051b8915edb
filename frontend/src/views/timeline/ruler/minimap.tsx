import { useQueries } from "@tanstack/react-query";
import { type PointerEvent, useEffect, useMemo, useRef } from "react";
import type { Answer } from "../../../api/client";
import { getPartBytes } from "../../../api/routes";
import type { TimelineManifest } from "../../../api/types.gen";
import { documentTokens, KIND } from "../../../base/style/kind_hues";
import { count, time } from "../../../base/text/format";
import { LiveCanvas, type Paint } from "../../../components/charts/live_canvas";
import { whileReading } from "../../../state/parts";
import type { TimelinePalette } from "../../../timeline/contract";
import { TILE_BUCKETS } from "../../../timeline/frame/frame";
import { decodeMinimap, type MinimapTrack } from "../../../timeline/frame/minimap";
import { decodeSliceTiles, type SliceTile } from "../../../timeline/frame/slices";
import { bucketNs, coarsestLevel, tileAt } from "../../../timeline/tiles/grid";
import type { Range } from "../state/address";
import { useTimelineContext, viewOf } from "../state/context";
import type { Density } from "../state/search";
import { type Source, useList } from "../state/sources";
import { isWork } from "../tracks/rows";

/**
 * How busy the threads of a host are over the whole trace, without the ranges that only say what
 * they hold: a step marked from its start to its end would make every host look busy throughout.
 *
 * It is read from the coarsest tiles of the threads, which tell the kind of each slice.
 */

/** Of more threads than this, the busiest stand for their process. */
const THREADS_MAX = 4;

/** Frames stand around their ops; in a layout of their own they are no part of the thread either. */
const NO_WORK = new Set<number>([KIND.annotation, KIND.range, KIND.python, KIND.module]);

export interface HostQuestion {
  readonly level: number;
  readonly tiles: string;
  readonly blocks: string;
  /** Columns that the answer fills. */
  readonly columns: number;
}

const threadsOf = ({ tracks }: TimelineManifest) =>
  tracks
    .map((track, index) => ({ track, index }))
    .filter(({ track }) => track.kind === "thread" && track.lanes > 0)
    .sort((a, b) => b.track.busy_ns - a.track.busy_ns);

/** Says it where the host is drawn by some of its threads only. */
function hostWords(sources: readonly Source[]): string | undefined {
  const most = Math.max(...sources.map(({ manifest }) => threadsOf(manifest).length));
  return most > THREADS_MAX
    ? `The host is drawn by the ${THREADS_MAX} busiest of its ${most} threads.`
    : undefined;
}

/** Which tiles to ask for; null where the trace has no thread. */
export function hostQuestion(manifest: TimelineManifest): HostQuestion | null {
  const { end_ns } = manifest;
  const threads = threadsOf(manifest).slice(0, THREADS_MAX);
  if (threads.length === 0) {
    return null;
  }
  const level = Math.max(0, coarsestLevel(end_ns) - 1);
  const last = tileAt(level, end_ns);
  return {
    level,
    tiles: last === 0 ? "0" : `0-${last}`,
    blocks: threads.map(({ index }) => `${index}.0`).join(","),
    columns: Math.max(1, Math.ceil(end_ns / bucketNs(level))),
  };
}

/** Adds a span, in columns, to a lane: whole columns and parts of those at its ends. */
function addSpan(lane: Float32Array, from: number, to: number): void {
  const first = Math.max(0, Math.floor(from));
  const last = Math.min(lane.length, Math.ceil(to));
  for (let i = first; i < last; i += 1) {
    lane[i] = (lane[i] ?? 0) + Math.min(to, i + 1) - Math.max(from, i);
  }
}

/** Work of one lane of a tile. */
function laneWork(tile: SliceTile, lane: number, columns: number): Float32Array {
  const work = new Float32Array(columns);
  const left = tile.tile * TILE_BUCKETS;
  const [firstRect = 0, lastRect = 0] = tile.rectFirst.slice(lane, lane + 2);
  for (let i = firstRect; i < lastRect; i += 1) {
    if (!NO_WORK.has(tile.rectKind[i] ?? 0)) {
      addSpan(work, left + (tile.x0[i] ?? 0), left + (tile.x1[i] ?? 0));
    }
  }
  const [firstBucket = 0, lastBucket = 0] = tile.bucketFirst.slice(lane, lane + 2);
  for (let i = firstBucket; i < lastBucket; i += 1) {
    const column = left + (tile.x[i] ?? 0);
    if (!NO_WORK.has(tile.bucketKind[i] ?? 0) && column < columns) {
      work[column] = (work[column] ?? 0) + (tile.busy[i] ?? 0) / 255;
    }
  }
  return work;
}

/** By index of the group: the share of each column in which it is busy, 0 … 1. */
export type BusyGroups = ReadonlyMap<number, Float32Array>;

export function hostBusy(
  { tracks }: TimelineManifest,
  tiles: readonly SliceTile[],
  columns: number,
): BusyGroups {
  const groups = new Map<number, Float32Array>();
  for (const tile of tiles) {
    const group = tracks[tile.track]?.group;
    if (group !== undefined) {
      const busy = groups.get(group) ?? new Float32Array(columns);
      groups.set(group, busy);
      for (let lane = 0; lane < tile.lanes; lane += 1) {
        // What a slice holds lies within it: the lane that covers most covers all.
        laneWork(tile, lane, columns).forEach((work, i) => {
          busy[i] = Math.max(busy[i] ?? 0, Math.min(1, work));
        });
      }
    }
  }
  return groups;
}

/** Draws the whole trace in a strip: host above, devices below, hits beneath, and what is in view. */

/** One band of the strip: how busy one group is, column by column, 0 … 1. */
export interface Band {
  readonly source: Source;
  readonly isDevice: boolean;
  readonly busy: Float32Array;
}

/** The busiest stream of a device stands for it in each column: streams run side by side. */
export function deviceBusy(
  manifest: TimelineManifest,
  tracks: readonly MinimapTrack[],
): BusyGroups {
  const groups = new Map<number, Float32Array>();
  for (const { track, busy } of tracks) {
    const known = manifest.tracks[track];
    if (known !== undefined && isWork(known)) {
      const band = groups.get(known.group) ?? new Float32Array(busy.length);
      groups.set(known.group, band);
      busy.forEach((value, i) => {
        band[i] = Math.max(band[i] ?? 0, value / 255);
      });
    }
  }
  return groups;
}

export interface WholePicture {
  readonly bands: readonly Band[];
  readonly densities: readonly Density[];
  readonly whole: Range;
  readonly palette: TimelinePalette;
  readonly hitColor: string;
}

export interface FramePicture {
  readonly whole: Range;
  readonly view: Range;
  readonly palette: TimelinePalette;
  readonly veil: string;
}

interface Place {
  readonly top: number;
  readonly height: number;
}

/** Hosts share the upper half as bars upwards, devices the lower one; alone, each takes both. */
function placeOf(band: Band, bands: readonly Band[], height: number): Place {
  const alike = bands.filter((other) => other.isDevice === band.isDevice);
  const hasBoth = alike.length < bands.length;
  const room = height - 5;
  const half = hasBoth ? room / 2 : room;
  const each = half / alike.length;
  const base = hasBoth && band.isDevice ? half : 0;
  return { top: 1 + base + alike.indexOf(band) * each, height: each };
}

/** What stays while the camera moves: how busy each group is, and where the hits are. */
export function paintWhole(
  context: CanvasRenderingContext2D,
  width: number,
  height: number,
  { bands, densities, hitColor, whole, palette }: WholePicture,
): void {
  const scale = width / (whole.end - whole.start);
  const x = (at: number) => (at - whole.start) * scale;
  for (const band of bands) {
    paintBand(context, band, placeOf(band, bands, height), palette, x);
  }
  paintHits(context, densities, hitColor, height, x);
}

/** What is in view, and a veil over the rest. */
export function paintFrame(
  context: CanvasRenderingContext2D,
  width: number,
  height: number,
  { whole, view, palette, veil }: FramePicture,
): void {
  const scale = width / (whole.end - whole.start);
  const x = (at: number) => (at - whole.start) * scale;
  const left = Math.min(Math.max(x(view.start), 0), width - 2);
  const right = Math.max(Math.min(x(view.end), width), left + 2);
  context.fillStyle = veil;
  context.fillRect(0, 0, left, height);
  context.fillRect(right, 0, width - right, height);
  context.strokeStyle = palette.accent;
  context.lineWidth = 1;
  context.strokeRect(left + 0.5, 0.5, Math.max(1, right - left - 1), height - 1);
  context.fillStyle = palette.accent;
  context.fillRect(left - 2, height / 2 - 7, 5, 14);
  context.fillRect(right - 3, height / 2 - 7, 5, 14);
}

/** The busiest of the columns that a pixel stands for: what is short stays visible. */
function highest(busy: Float32Array, px: number, pixels: number): number {
  const first = Math.floor((px * busy.length) / pixels);
  const last = Math.max(first + 1, Math.ceil(((px + 1) * busy.length) / pixels));
  let high = 0;
  for (let i = first; i < last; i += 1) {
    high = Math.max(high, busy[i] ?? 0);
  }
  return high;
}

/** Too thin for bars, a band tells by opacity how busy it is. */
const THIN_PX = 6;

function paintBand(
  context: CanvasRenderingContext2D,
  { source, isDevice, busy }: Band,
  { top, height }: Place,
  palette: TimelinePalette,
  x: (at: number) => number,
): void {
  const from = x(source.manifest.start_ns + source.offset);
  const pixels = Math.max(1, Math.round(x(source.manifest.end_ns + source.offset) - from));
  const isThin = height < THIN_PX;
  context.fillStyle = palette.kinds[isDevice ? KIND.compute : KIND.op]?.fills[0] ?? palette.ink;
  context.globalAlpha = isDevice ? 0.85 : 0.6;
  for (let px = 0; px < pixels; px += 1) {
    const high = highest(busy, px, pixels);
    if (high > 0 && isThin) {
      context.globalAlpha = 0.25 + 0.75 * high;
      context.fillRect(from + px, top, 1, height - 0.5);
    } else if (high > 0) {
      const h = Math.max(1, high * (height - 1));
      context.fillRect(from + px, isDevice ? top : top + height - h, 1, h);
    }
  }
  context.globalAlpha = 1;
}

function paintHits(
  context: CanvasRenderingContext2D,
  densities: readonly Density[],
  hitColor: string,
  height: number,
  x: (at: number) => number,
): void {
  context.fillStyle = hitColor;
  for (const { source, columns } of densities) {
    const { start_ns, end_ns } = source.manifest;
    const column = (end_ns - start_ns) / Math.max(1, columns.length);
    columns.forEach((hits, i) => {
      if (hits > 0) {
        const at = x(start_ns + source.offset + i * column);
        context.fillRect(at, height - 4, Math.max(1, x(column) - x(0)), 4);
      }
    });
  }
}

/** The whole trace in a strip above the tracks: drag the frame, its edges, or a new one. */

const COLUMNS = 1024;
const GRIP_PX = 7;

/** Bytes as they come, decoded: what is no frame is an error of the question. */
function decoded<T>(answer: Answer<ArrayBuffer>, decode: (bytes: ArrayBuffer) => T): Answer<T> {
  return answer.state === "ready" ? { state: "ready", data: decode(answer.data) } : answer;
}

function deviceQuery(source: Source) {
  const { key, digest, manifest } = source;
  const query = { columns: COLUMNS, layout: manifest.layout };
  return {
    queryKey: ["minimap devices", digest, key, query],
    queryFn: async ({ signal }: { signal: AbortSignal }) => {
      const answer = await getPartBytes("timeline/minimap", key, digest, query, signal);
      return decoded(answer, (bytes) => deviceBusy(manifest, decodeMinimap(bytes)));
    },
    refetchInterval: whileReading(true),
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
    refetchInterval: whileReading(true),
  };
}

const bandsFrom = (source: Source, isDevice: boolean, answer: Answer<BusyGroups> | undefined) =>
  answer?.state === "ready"
    ? [...answer.data.values()].map((busy): Band => ({ source, isDevice, busy }))
    : [];

/** How busy each group of each source is; what has not come yet is left out. */
function useBands(): readonly Band[] {
  const { sources } = useTimelineContext();
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
  const { moving, whole, palette, search } = useTimelineContext();
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
  const { moving, whole, engine, sources } = useTimelineContext();
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
    <div role="img" aria-label={words} title={hostWords(sources)} className="tl-minimap">
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
  const { whole, sources, actions } = useTimelineContext();
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
