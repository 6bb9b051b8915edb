/** Arrows between slices: curves with a halo, and short stubs where an end is out of sight. */
import { ArrowKind, type TimelineArrow, type TimelinePalette } from "../contract";
import { type Box, boxOfSlice, type Geometry } from "./places";

const HALO_PX = 2.6;
const LINE_PX = 1.6;
const HEAD_PX = 7;
/** Between an end that is out of sight and the edge of the canvas. */
const EDGE_PX = 6;
/** Labels are left out when there are more arrows than this. */
const MOST_LABELS = 12;
const SAMPLES = 24;
/** So near, in CSS px, a click means the arrow. */
const REACH_PX = 5;

/** An arrow as it lies on the canvas. */
export interface ArrowPath {
  readonly arrow: TimelineArrow;
  readonly x0: number;
  readonly y0: number;
  readonly x1: number;
  readonly y1: number;
  readonly isFromSeen: boolean;
  readonly isToSeen: boolean;
  /** On which side an end that is not seen is. */
  readonly fromSide: Side | null;
  readonly toSide: Side | null;
}

type Side = "left" | "right" | "up" | "down";

interface End {
  readonly x: number;
  readonly y: number;
  readonly side: Side | null;
}

export interface ArrowScene extends Geometry {
  readonly width: number;
}

/** What can be drawn of the arrows: none whose both ends are out of sight on the same side. */
export function arrowPaths(scene: ArrowScene, arrows: readonly TimelineArrow[]): ArrowPath[] {
  const paths: ArrowPath[] = [];
  for (const arrow of arrows) {
    const from = boxOfSlice(scene, arrow.from, 0);
    const to = boxOfSlice(scene, arrow.to, 0);
    if (from !== null && to !== null) {
      const begin = endAt(scene, from, from.left + from.width);
      const end = endAt(scene, to, to.left);
      const isFromSeen = begin.side === null;
      const isToSeen = end.side === null;
      const isApart = isFromSeen || isToSeen || (begin.x !== end.x && begin.y !== end.y);
      if (isApart) {
        paths.push({
          arrow,
          x0: begin.x,
          y0: begin.y,
          x1: end.x,
          y1: end.y,
          isFromSeen,
          isToSeen,
          fromSide: begin.side,
          toSide: end.side,
        });
      }
    }
  }
  return paths;
}

/** The place of an end, moved to the edge of what is visible. */
function endAt(scene: ArrowScene, box: Box, x: number): End {
  const y = box.top + box.height / 2;
  const inX = Math.max(EDGE_PX, Math.min(scene.width - EDGE_PX, x));
  const inY = Math.max(box.from + EDGE_PX, Math.min(box.to - EDGE_PX, y));
  const side = x < 0 ? "left" : x > scene.width ? "right" : sideOf(box, y);
  return side === null ? { x, y, side } : { x: inX, y: inY, side };
}

const sideOf = ({ from, to }: Box, y: number): Side | null =>
  y < from ? "up" : y > to ? "down" : null;

/** How far the curve leaves its ends sideways. */
function reach({ x0, x1 }: ArrowPath): number {
  return x1 >= x0 ? Math.max(12, (x1 - x0) * 0.45) : Math.min(120, 30 + (x0 - x1) * 0.3);
}

export function drawArrows(
  context: CanvasRenderingContext2D,
  paths: readonly ArrowPath[],
  palette: TimelinePalette,
): void {
  context.lineCap = "round";
  context.strokeStyle = palette.background;
  // All halos first: no arrow is hidden by that of its neighbour.
  for (const path of paths) {
    trace(context, path);
    context.lineWidth = widthOf(path.arrow) + HALO_PX;
    context.stroke();
  }
  const alpha = paths.length > MANY ? MANY_ALPHA : 1;
  for (const path of paths) {
    const color = colorOf(path.arrow, palette);
    trace(context, path);
    context.strokeStyle = color;
    context.lineWidth = widthOf(path.arrow);
    context.globalAlpha = alpha;
    context.stroke();
    context.globalAlpha = 1;
    drawHead(context, path, color);
  }
  const pills = arrowLabels(paths).map((label) => {
    const width = context.measureText(label.text).width + 12;
    return { label, width, left: label.x - width * label.align, middle: label.y };
  });
  for (const { label, width, left, middle } of apart(pills)) {
    drawPill(context, label.text, left, middle, width, palette, colorOf(label.arrow, palette));
  }
}

/** Where a label would lie, in CSS px. */
interface Pill {
  readonly left: number;
  readonly middle: number;
  readonly width: number;
}

const PILL_PX = 19;

/** Those that cover no earlier one: a text over another could not be read. */
export function apart<P extends Pill>(pills: readonly P[]): readonly P[] {
  const shown: P[] = [];
  for (const pill of pills) {
    const isFree = shown.every(
      ({ left, middle, width }) =>
        Math.abs(middle - pill.middle) >= PILL_PX ||
        pill.left >= left + width ||
        pill.left + pill.width <= left,
    );
    if (isFree) {
      shown.push(pill);
    }
  }
  return shown;
}

/** So many arrows are a current; singly they would be a black knot. */
const MANY = 12;
const MANY_ALPHA = 0.4;

/** Bundles are wider, the more they hold. */
const widthOf = ({ count }: TimelineArrow): number =>
  LINE_PX + Math.min(2, Math.log10(Math.max(1, count)));

function trace(context: CanvasRenderingContext2D, path: ArrowPath): void {
  const bend = reach(path);
  context.beginPath();
  context.moveTo(path.x0, path.y0);
  context.bezierCurveTo(path.x0 + bend, path.y0, path.x1 - bend, path.y1, path.x1, path.y1);
}

function drawHead(context: CanvasRenderingContext2D, path: ArrowPath, color: string): void {
  if (!path.isToSeen) {
    return;
  }
  const { x1, y1 } = path;
  context.fillStyle = color;
  context.beginPath();
  context.moveTo(x1 + 1, y1);
  context.lineTo(x1 - HEAD_PX + 1, y1 - HEAD_PX / 2);
  context.lineTo(x1 - HEAD_PX + 1, y1 + HEAD_PX / 2);
  context.fill();
}

/** Kernels are blue like kernels, collectives like them; what belongs together on the host is ink. */
const COMPUTE = 8;
const COMMUNICATION = 9;

const colorOf = ({ kind }: TimelineArrow, palette: TimelinePalette): string => {
  if (kind === ArrowKind.path) {
    return palette.accent;
  }
  const like = kind === ArrowKind.launch ? COMPUTE : kind === ArrowKind.joined ? COMMUNICATION : -1;
  return like < 0 ? palette.ink : (palette.kinds[like]?.fills[0] ?? palette.accent);
};

/** A text beside an arrow, or beside several that leave the canvas at the same place. */
export interface ArrowLabel {
  readonly arrow: TimelineArrow;
  readonly text: string;
  readonly x: number;
  readonly y: number;
  /** Which part of the text is left of `x`: 0, a half, or all. */
  readonly align: 0 | 0.5 | 1;
}

export function arrowLabels(paths: readonly ArrowPath[]): ArrowLabel[] {
  const labels: ArrowLabel[] = [];
  const stubs = new Map<string, ArrowPath[]>();
  for (const path of paths) {
    if (path.isFromSeen && path.isToSeen) {
      if (path.arrow.label !== "") {
        const [x, y] = pointAt(path, 0.35);
        labels.push({ arrow: path.arrow, text: path.arrow.label, x, y, align: 0.5 });
      }
    } else {
      const [x, y] = stubOf(path);
      const key = `${path.isToSeen} ${Math.round(x / STUB_PX)} ${Math.round(y / STUB_PX)}`;
      stubs.set(key, [...(stubs.get(key) ?? []), path]);
    }
  }
  const shown = labels.length <= MOST_LABELS ? labels : [];
  return [...shown, ...[...stubs.values()].slice(0, MOST_LABELS).map(stubLabel)];
}

/** Ends out of sight that are so near each other, in CSS px, share a label. */
const STUB_PX = 40;

/** The end that is out of sight, moved to the edge. */
const stubOf = (path: ArrowPath): [number, number] =>
  path.isToSeen ? [path.x0, path.y0] : [path.x1, path.y1];

const ARROWS_OUT = { left: "◂", right: "▸", up: "▴", down: "▾" } as const;

function stubLabel(paths: readonly ArrowPath[]): ArrowLabel {
  const [first] = paths as readonly [ArrowPath, ...ArrowPath[]];
  const [x, y] = stubOf(first);
  const side = (first.isToSeen ? first.fromSide : first.toSide) ?? "right";
  const count = paths.reduce((sum, { arrow }) => sum + arrow.count, 0);
  const label = paths.find(({ arrow }) => arrow.label !== "")?.arrow.label ?? "";
  const more = label === "" ? `${count}` : `+${count - 1}`;
  const plain = count > 1 ? `${label} ${more}`.trim() : label;
  const text = side === "left" ? `◂ ${plain}` : `${plain} ${ARROWS_OUT[side]}`;
  const up = side === "up" ? -STUB_LABEL_PX : STUB_LABEL_PX;
  const align = side === "left" ? 0 : side === "right" ? 1 : 0.5;
  return { arrow: first.arrow, text: text.trim(), x, y: y - up, align };
}

/** From the end of a stub to the middle of its label, in CSS px. */
const STUB_LABEL_PX = 18;

export function drawPill(
  context: CanvasRenderingContext2D,
  text: string,
  left: number,
  middle: number,
  width: number,
  palette: TimelinePalette,
  color: string,
): void {
  context.fillStyle = palette.background;
  context.strokeStyle = color;
  context.lineWidth = 1;
  context.beginPath();
  context.roundRect(Math.round(left) + 0.5, Math.round(middle) - 8.5, Math.round(width), 17, 8.5);
  context.fill();
  context.stroke();
  context.fillStyle = palette.ink;
  context.textAlign = "left";
  context.textBaseline = "alphabetic";
  context.fillText(text, Math.round(left) + 6, Math.round(middle) + 4);
}

function pointAt(path: ArrowPath, t: number): [number, number] {
  const bend = reach(path);
  const s = 1 - t;
  const a = s * s * s;
  const b = 3 * s * s * t;
  const c = 3 * s * t * t;
  const d = t * t * t;
  return [
    a * path.x0 + b * (path.x0 + bend) + c * (path.x1 - bend) + d * path.x1,
    (a + b) * path.y0 + (c + d) * path.y1,
  ];
}

/** The arrow at a place, if there is one within reach. */
export function arrowAt(paths: readonly ArrowPath[], x: number, y: number): TimelineArrow | null {
  let nearest: ArrowPath | null = null;
  let least = REACH_PX;
  for (const path of paths) {
    const distance = distanceTo(path, x, y);
    if (distance <= least) {
      least = distance;
      nearest = path;
    }
  }
  return nearest?.arrow ?? null;
}

function distanceTo(path: ArrowPath, x: number, y: number): number {
  let least = Number.POSITIVE_INFINITY;
  let [x0, y0] = [path.x0, path.y0];
  for (let i = 1; i <= SAMPLES; i += 1) {
    const [x1, y1] = pointAt(path, i / SAMPLES);
    least = Math.min(least, distanceToLine(x, y, x0, y0, x1, y1));
    [x0, y0] = [x1, y1];
  }
  return least;
}

function distanceToLine(
  x: number,
  y: number,
  x0: number,
  y0: number,
  x1: number,
  y1: number,
): number {
  const [dx, dy] = [x1 - x0, y1 - y0];
  const length = dx * dx + dy * dy;
  const t = length === 0 ? 0 : Math.max(0, Math.min(1, ((x - x0) * dx + (y - y0) * dy) / length));
  return Math.hypot(x - x0 - t * dx, y - y0 - t * dy);
}
