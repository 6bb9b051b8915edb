/** Arrows between slices: curves with a halo, and short stubs where an end is out of sight. */
import type { TimelineArrow, TimelinePalette } from "../contract";
import { type Box, boxOfSlice, type Geometry } from "./places";

const HALO_PX = 4;
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
}

interface End {
  readonly x: number;
  readonly y: number;
  readonly isSeen: boolean;
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
      const isApart = begin.isSeen || end.isSeen || (begin.x !== end.x && begin.y !== end.y);
      if (isApart) {
        paths.push({
          arrow,
          x0: begin.x,
          y0: begin.y,
          x1: end.x,
          y1: end.y,
          isFromSeen: begin.isSeen,
          isToSeen: end.isSeen,
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
  const isSeen = x >= 0 && x <= scene.width && y >= box.from && y <= box.to;
  return isSeen ? { x, y, isSeen } : { x: inX, y: inY, isSeen };
}

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
  for (const path of paths) {
    trace(context, path);
    context.strokeStyle = palette.background;
    context.lineWidth = HALO_PX;
    context.stroke();
    context.strokeStyle = colorOf(path.arrow, palette);
    context.lineWidth = LINE_PX + Math.min(2, Math.log10(Math.max(1, path.arrow.count)));
    context.stroke();
    drawHead(context, path, colorOf(path.arrow, palette));
  }
  if (paths.length <= MOST_LABELS) {
    for (const path of paths) {
      drawLabel(context, path, palette);
    }
  }
}

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

/** Kernels are blue like kernels; what belongs together on the host is ink. */
const LAUNCH = 0;
const COMPUTE = 8;

const colorOf = ({ kind }: TimelineArrow, palette: TimelinePalette): string =>
  kind === LAUNCH ? (palette.kinds[COMPUTE]?.fills[0] ?? palette.accent) : palette.ink;

/** In the middle of the curve; beside an end that is out of sight with the way there. */
function drawLabel(
  context: CanvasRenderingContext2D,
  path: ArrowPath,
  palette: TimelinePalette,
): void {
  const { label, count } = path.arrow;
  const plain = label === "" && count > 1 ? `${count}` : label;
  const text = path.isToSeen ? (path.isFromSeen ? plain : `◂ ${plain}`) : `${plain} ▸`;
  if (plain === "" && path.isToSeen && path.isFromSeen) {
    return;
  }
  const [x, y] = path.isToSeen
    ? path.isFromSeen
      ? pointAt(path, 0.35)
      : [path.x0, path.y0]
    : [path.x1, path.y1];
  const width = context.measureText(text).width + 12;
  const left = path.isToSeen && !path.isFromSeen ? x : path.isToSeen ? x - width / 2 : x - width;
  drawPill(
    context,
    text,
    left,
    path.isToSeen ? y : y - 20,
    width,
    palette,
    colorOf(path.arrow, palette),
  );
}

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
