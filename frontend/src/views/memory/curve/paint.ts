/** Paints the curve: layers, totals, capacity, steps; and above them what is chosen and pointed at. */
import type { MemoryCurve, StepMark } from "../../../api/types.gen";
import { fade } from "../../../base/style/color";
import type { Tokens } from "../../../base/style/kind_hues";
import { bytes } from "../../../base/text/format";
import type { TimeRange } from "../choice";
import { layerToken, totalFill } from "../colors";
import { byteTicks, type CurveFrame, timeTicks, xOf, yOf } from "./frame";

type Context = CanvasRenderingContext2D;

export interface CurveScene {
  readonly curve: MemoryCurve;
  readonly frame: CurveFrame;
  readonly steps: readonly StepMark[];
  /** null: it is not known, or too far up to be drawn. */
  readonly capacity: number | null;
  /** The layer that is singled out. */
  readonly active: string | null;
}

/** When a block was there; null: beyond the recording. */
export interface Life {
  readonly start: number | null;
  readonly end: number | null;
}

const FONT = "11px system-ui, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif";
const BOLD = FONT.replace("11px", "600 11px");
const PX_PER_TICK = 110;
const OTHERS = 0.16;
const LAYERS = 0.88;

/** Outlines of the stack: the lower edge, then the top of each layer. */
export function stackOf({ ts, layers }: MemoryCurve): readonly (readonly number[])[] {
  const edges: number[][] = [ts.map(() => 0)];
  for (const { values } of layers) {
    const below = edges.at(-1) ?? [];
    edges.push(values.map((value, at) => value + (below[at] ?? 0)));
  }
  return edges;
}

/** A line that holds each value until the next point. */
function trace(context: Context, scene: CurveScene, values: readonly number[], isBack: boolean) {
  const { frame, curve } = scene;
  const count = curve.ts.length;
  for (let step = 0; step < count; step += 1) {
    const at = isBack ? count - 1 - step : step;
    const [x, y] = [xOf(frame, curve.ts[at] ?? 0), yOf(frame, values[at] ?? 0)];
    const before = yOf(frame, values[isBack ? at : Math.max(0, at - 1)] ?? 0);
    context.lineTo(x, before);
    if (isBack && at > 0) {
      context.lineTo(x, yOf(frame, values[at - 1] ?? 0));
    } else {
      context.lineTo(x, y);
    }
  }
}

function fillBetween(
  context: Context,
  scene: CurveScene,
  low: readonly number[],
  high: readonly number[],
) {
  context.beginPath();
  context.moveTo(xOf(scene.frame, scene.curve.ts[0] ?? 0), yOf(scene.frame, low[0] ?? 0));
  trace(context, scene, high, false);
  trace(context, scene, low, true);
  context.closePath();
  context.fill();
}

function paintAxes(context: Context, scene: CurveScene, tokens: Tokens, width: number) {
  const { frame } = scene;
  context.font = FONT;
  context.strokeStyle = tokens("--line");
  context.fillStyle = tokens("--ink-3");
  context.lineWidth = 1;
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const { value, text } of byteTicks(frame)) {
    const y = Math.round(yOf(frame, value)) + 0.5;
    context.beginPath();
    context.moveTo(frame.left, y);
    context.lineTo(frame.right, y);
    context.stroke();
    context.fillText(text, frame.left - 6, y);
  }
  context.textBaseline = "alphabetic";
  for (const { value, text } of timeTicks(frame, (frame.right - frame.left) / PX_PER_TICK)) {
    const x = xOf(frame, value);
    const half = context.measureText(text).width / 2;
    context.textAlign = x - half < frame.left ? "left" : x + half > width ? "right" : "center";
    context.fillText(text, x, frame.bottom + 15);
  }
}

function paintSteps(context: Context, { frame, steps }: CurveScene, tokens: Tokens) {
  context.font = FONT;
  context.textAlign = "left";
  context.textBaseline = "alphabetic";
  context.fillStyle = tokens("--ink-3");
  context.strokeStyle = tokens("--line-strong");
  let free = frame.left;
  for (const step of steps) {
    const x = xOf(frame, Math.max(step.start_ns, frame.start));
    const isSeen = step.end_ns > frame.start && step.start_ns < frame.end;
    const text = `step ${step.number}`;
    const wide = context.measureText(text).width;
    if (!isSeen || x < free || x + wide + 4 > frame.right) {
      continue;
    }
    context.beginPath();
    context.moveTo(Math.round(x) + 0.5, 4);
    context.lineTo(Math.round(x) + 0.5, 12);
    context.stroke();
    context.fillText(text, x + 4, 12);
    free = x + wide + 14;
  }
}

function paintLayers(context: Context, scene: CurveScene, tokens: Tokens) {
  const { curve, active } = scene;
  const isDivided = curve.layers.length > 0 && curve.layers.every(isWhole);
  if (!isDivided) {
    context.fillStyle = totalFill(tokens);
    fillBetween(
      context,
      scene,
      curve.ts.map(() => 0),
      curve.allocated,
    );
    return;
  }
  const edges = stackOf(curve);
  for (const [place, { key }] of curve.layers.entries()) {
    context.globalAlpha = active === null || active === key ? LAYERS : OTHERS;
    context.fillStyle = tokens(layerToken(key, place));
    fillBetween(context, scene, edges[place] ?? [], edges[place + 1] ?? []);
  }
  context.globalAlpha = 1;
}

/** What is less than nothing cannot be stacked. */
const isWhole = ({ values }: { readonly values: readonly number[] }) =>
  values.every((value) => value >= 0);

function paintLine(context: Context, scene: CurveScene, values: readonly number[], dash: number[]) {
  context.beginPath();
  context.setLineDash(dash);
  context.moveTo(xOf(scene.frame, scene.curve.ts[0] ?? 0), yOf(scene.frame, values[0] ?? 0));
  trace(context, scene, values, false);
  context.stroke();
  context.setLineDash([]);
}

/** Words upon the picture, with a rim of the ground around them. */
function halo(context: Context, tokens: Tokens, text: string, x: number, y: number) {
  context.lineJoin = "round";
  context.lineWidth = 3;
  context.strokeStyle = tokens("--surface");
  context.strokeText(text, x, y);
  context.fillText(text, x, y);
}

function paintCapacity(context: Context, scene: CurveScene, tokens: Tokens) {
  const { frame, capacity, curve } = scene;
  if (capacity === null) {
    return;
  }
  // At the side where the peak is not: its words may be as high.
  const isLeft = xOf(frame, curve.peak_ns) > (frame.left + frame.right) / 2;
  const y = Math.round(yOf(frame, capacity)) + 0.5;
  context.strokeStyle = tokens("--err");
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(frame.left, y);
  context.lineTo(frame.right, y);
  context.stroke();
  context.font = FONT;
  context.textAlign = isLeft ? "left" : "right";
  context.textBaseline = "bottom";
  context.fillStyle = tokens("--err");
  const x = isLeft ? frame.left + 4 : frame.right - 4;
  halo(context, tokens, `capacity ${bytes(capacity)}`, x, y - 1);
}

function paintPeak(context: Context, { curve, frame }: CurveScene, tokens: Tokens) {
  const [x, y] = [xOf(frame, curve.peak_ns), yOf(frame, curve.peak_bytes)];
  context.beginPath();
  context.arc(x, y, 3.5, 0, 2 * Math.PI);
  context.fillStyle = tokens("--surface");
  context.fill();
  context.lineWidth = 1.6;
  context.strokeStyle = tokens("--ink");
  context.stroke();
  context.font = BOLD;
  context.fillStyle = tokens("--ink");
  const text = `peak ${bytes(curve.peak_bytes)}`;
  const isRight = x + 9 + context.measureText(text).width < frame.right;
  context.textAlign = isRight ? "left" : "right";
  context.textBaseline = "middle";
  halo(context, tokens, text, isRight ? x + 9 : x - 9, Math.max(frame.top + 2, y - 10));
}

/** All that stays while the pointer moves. */
export function paintCurve(context: Context, width: number, scene: CurveScene, tokens: Tokens) {
  const { curve } = scene;
  paintAxes(context, scene, tokens, width);
  paintLayers(context, scene, tokens);
  context.strokeStyle = tokens("--ink");
  context.lineWidth = 0.75;
  paintLine(context, scene, curve.allocated, []);
  if (curve.reserved !== null) {
    context.strokeStyle = tokens("--ink-2");
    context.lineWidth = 1.5;
    paintLine(context, scene, curve.reserved, [4, 3]);
  }
  paintCapacity(context, scene, tokens);
  paintSteps(context, scene, tokens);
  paintPeak(context, scene, tokens);
}

export interface OverlayScene {
  readonly frame: CurveFrame;
  readonly curve: MemoryCurve;
  readonly range: TimeRange | null;
  /** Where the pointer, or the keyboard, is. */
  readonly cursor: number | null;
  /** The instant whose blocks the treemap shows. */
  readonly instant: number | null;
  readonly life: Life | null;
  /** The total at an instant. */
  readonly totalAt: (instant: number) => number;
}

function vertical(context: Context, frame: CurveFrame, ts: number) {
  const x = Math.round(xOf(frame, ts)) + 0.5;
  context.beginPath();
  context.moveTo(x, frame.top - 8);
  context.lineTo(x, frame.bottom);
  context.stroke();
  return x;
}

function paintRange(context: Context, { frame, range }: OverlayScene, tokens: Tokens) {
  if (range === null) {
    return;
  }
  const from = Math.max(range.start, frame.start);
  const to = Math.min(range.end, frame.end);
  if (to <= from) {
    return;
  }
  const [left, right] = [xOf(frame, from), xOf(frame, to)];
  context.fillStyle = fade(tokens("--accent"), 0.1);
  context.fillRect(left, frame.top - 8, right - left, frame.bottom - frame.top + 8);
  context.strokeStyle = tokens("--accent");
  context.lineWidth = 1.5;
  const middle = (frame.top + frame.bottom) / 2;
  for (const end of [range.start, range.end]) {
    if (end >= frame.start && end <= frame.end) {
      const x = vertical(context, frame, end);
      context.fillStyle = tokens("--accent");
      context.beginPath();
      context.roundRect(x - 3, middle - 11, 6, 22, 3);
      context.fill();
    }
  }
}

function paintLife(context: Context, scene: OverlayScene, tokens: Tokens) {
  const { frame, life } = scene;
  if (life === null) {
    return;
  }
  const from = Math.max(life.start ?? frame.start, frame.start);
  const to = Math.min(life.end ?? frame.end, frame.end);
  if (to < frame.start || from > frame.end) {
    return;
  }
  const [left, right] = [xOf(frame, from), xOf(frame, to)];
  context.fillStyle = fade(tokens("--ink"), 0.12);
  context.fillRect(left, frame.top, Math.max(1, right - left), frame.bottom - frame.top);
  context.strokeStyle = tokens("--ink");
  context.lineWidth = 1;
  for (const ts of [life.start, life.end]) {
    if (ts !== null && ts >= frame.start && ts <= frame.end) {
      const x = vertical(context, frame, ts);
      context.beginPath();
      context.arc(x, yOf(frame, scene.totalAt(ts)), 3.5, 0, 2 * Math.PI);
      context.fillStyle = tokens("--surface");
      context.fill();
      context.stroke();
    }
  }
}

/** What is chosen and pointed at. */
export function paintOverlay(context: Context, scene: OverlayScene, tokens: Tokens) {
  const { frame, cursor, instant } = scene;
  paintRange(context, scene, tokens);
  paintLife(context, scene, tokens);
  if (instant !== null && instant >= frame.start && instant <= frame.end) {
    context.strokeStyle = tokens("--ink-2");
    context.lineWidth = 1;
    context.setLineDash([2, 2]);
    vertical(context, frame, instant);
    context.setLineDash([]);
  }
  if (cursor !== null) {
    context.strokeStyle = tokens("--ink-3");
    context.lineWidth = 1;
    vertical(context, frame, cursor);
  }
}
