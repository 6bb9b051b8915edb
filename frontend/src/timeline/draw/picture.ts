import type { CounterTile } from "../frame/counters";
import type { CounterPlan, Plan } from "../rows/plan";
import { rulerTicks } from "../ruler";
import { cover, type Piece } from "../tiles/cover";
import { bucketNs, levelFor, MAX_LEVEL, tileNs } from "../tiles/grid";
import { Curve } from "./curve";
import { Labels } from "./labels";
import type { Scale } from "./lane";
import { Marks } from "./marks";
import { pinnedHeight, type Scene } from "./scene";
import { Strip } from "./strip";
import { Blits, paintTrack, type TrackPainter } from "./tracks";

/**
 * A series of values onto rows of the strip. A value holds until the next one, so the line is one of
 * steps. Where a pixel column holds more than one value, a band reaches from the lowest to the
 * highest, so that no peak is lost, and the line goes through the mean.
 */

/** Above the highest value and below the lowest, in CSS px. */
const PAD = 3;

const pieces: Piece<CounterTile>[] = [];

/** `top` is the upper edge of the row on the canvas, in CSS px. */
export function paintCounter(painter: TrackPainter, plan: CounterPlan, top: number): void {
  const { source, row, laneTiles } = plan;
  const { dpr, width } = painter.scale;
  const start = Math.max(painter.start - source.offset, source.source.startNs);
  const end = Math.min(painter.end - source.offset, source.source.endNs + 1);
  cover(laneTiles, Math.min(painter.level, source.coarsest), source.coarsest, start, end, pieces);
  const upper = Math.round((top + PAD) * dpr);
  const height = Math.max(1, Math.round((top + row.height - PAD) * dpr) - upper);
  const thickness = Math.max(1, Math.round(dpr));
  curve.reset(width, row.low, row.high, height - thickness);
  for (const piece of pieces) {
    piece.tile.used = painter.frame;
    addPiece(painter, piece, source.offset);
  }
  const colors = painter.paint.counters[row.tone];
  const first = painter.strip.openRows(height);
  painter.blits.push(first, height, upper, height);
  curve.draw(painter.strip.pixels, first * width, height, thickness, colors);
}

function addPiece(painter: TrackPainter, piece: Piece<CounterTile>, offset: number): void {
  const { scale } = painter;
  const { tile } = piece;
  const origin = (tile.tile * tileNs(tile.level) + offset - scale.start) / scale.nsPerPx;
  const bucket = bucketNs(tile.level) / scale.nsPerPx;
  const from = (piece.start + offset - scale.start) / scale.nsPerPx;
  const to = (piece.end + offset - scale.start) / scale.nsPerPx;
  let before = tile.before;
  let i = 0;
  for (; i < tile.x.length && origin + (tile.x[i] as number) * bucket < from; i += 1) {
    before = tile.last[i] as number;
  }
  curve.begin(from, before);
  for (; i < tile.x.length; i += 1) {
    const x = origin + (tile.x[i] as number) * bucket;
    if (x >= to) {
      break;
    }
    const [low, high] = [tile.low[i] as number, tile.high[i] as number];
    curve.add(x, low, high, tile.last[i] as number, tile.mean[i] as number);
  }
  curve.hold(to);
}

const curve = new Curve();

/** The picture: grid, lanes, counters and labels. What lies over it is drawn elsewhere. */

/** A part of the picture that is clipped on its own: the pinned rows, and the others. */
class Part {
  readonly labels = new Labels();
  readonly marks = new Marks();
  readonly blits = new Blits();

  reset(): void {
    this.labels.reset();
    this.marks.reset();
    this.blits.reset();
  }
}

/** From, to: the part of the canvas that a part of the picture has, in CSS px. */
interface Window {
  readonly from: number;
  readonly to: number;
}

export class Picture {
  private readonly strip = new Strip();
  private readonly pinned = new Part();
  private readonly rows = new Part();
  private readonly pixels = document.createElement("canvas");
  private readonly pixelContext = this.pixels.getContext("2d");
  private hatch: { color: string; dpr: number; pattern: CanvasPattern | string } | null = null;

  constructor(private readonly context: CanvasRenderingContext2D) {}

  /** Of the pixels that lanes are painted to. */
  get bytes(): number {
    return this.strip.pixels.byteLength + this.pixels.width * this.pixels.height * 4;
  }

  draw(scene: Scene): void {
    const { context } = this;
    const scale: Scale = {
      start: scene.camera.start,
      nsPerPx: scene.camera.nsPerPx / scene.dpr,
      dpr: scene.dpr,
      width: scene.deviceWidth,
    };
    const edge = Math.min(pinnedHeight(scene), scene.height);
    const above = { from: 0, to: edge };
    const below = { from: edge, to: scene.height };
    this.strip.reset(scene.deviceWidth);
    this.paint(scene, scale, this.pinned, scene.pinned, 0, above);
    this.paint(scene, scale, this.rows, scene.rows, edge - scene.camera.scrollY, below);
    this.upload();

    context.setTransform(1, 0, 0, 1, 0, 0);
    context.imageSmoothingEnabled = false;
    context.font = scene.font;
    context.fillStyle = scene.paint.palette.background;
    context.fillRect(0, 0, scene.deviceWidth, scene.deviceHeight);
    this.drawPart(scene, this.rows, scene.rows, edge - scene.camera.scrollY, below);
    if (edge > 0) {
      this.drawPart(scene, this.pinned, scene.pinned, 0, above);
      context.fillStyle = scene.paint.palette.inkFaint;
      context.fillRect(0, Math.round(edge * scene.dpr) - 1, scene.deviceWidth, 1);
    }
  }

  private paint(
    scene: Scene,
    scale: Scale,
    part: Part,
    plan: Plan,
    top: number,
    { from, to }: Window,
  ): void {
    part.reset();
    const painter: TrackPainter = {
      scale,
      strip: this.strip,
      paint: scene.paint,
      labels: part.labels,
      marks: part.marks,
      blits: part.blits,
      level: levelFor(scene.camera.nsPerPx, MAX_LEVEL),
      start: scene.camera.start,
      end: scene.camera.start + scene.width * scene.camera.nsPerPx,
      frame: scene.frame,
    };
    for (let i = firstVisible(plan, from - top); i < plan.rows.length; i += 1) {
      const y = top + plan.stack.top(i);
      if (y >= to) {
        return;
      }
      const row = plan.rows[i];
      if (row?.type === "track") {
        paintTrack(painter, row, y, from, to);
      } else if (row?.type === "counter") {
        paintCounter(painter, row, y);
      }
    }
  }

  private upload(): void {
    const { strip, pixels } = this;
    const { width, rows } = strip;
    if (rows === 0) {
      return;
    }
    if (pixels.width !== width || pixels.height < rows) {
      pixels.width = width;
      pixels.height = Math.max(rows, pixels.height);
    }
    const bytes = new Uint8ClampedArray(strip.pixels.buffer, 0, width * rows * 4);
    this.pixelContext?.putImageData(new ImageData(bytes, width, rows), 0, 0);
  }

  private drawPart(scene: Scene, part: Part, plan: Plan, top: number, window: Window): void {
    const { context } = this;
    const { dpr } = scene;
    const upper = Math.round(window.from * dpr);
    context.save();
    context.beginPath();
    context.rect(0, upper, scene.deviceWidth, Math.round(window.to * dpr) - upper);
    context.clip();
    context.fillStyle = scene.paint.palette.background;
    context.fillRect(0, upper, scene.deviceWidth, Math.round(window.to * dpr) - upper);
    this.drawGrid(scene, plan, top, window);
    this.drawStrip(part.blits);
    part.marks.draw(context, this.hatchOf(scene), dpr);
    part.labels.draw(context, scene.paint, scene.advances, dpr, scene.mostLabels);
    context.restore();
  }

  private drawStrip(blits: Blits): void {
    for (let i = 0; i < blits.length; i += 1) {
      const row = blits.row(i);
      const low = this.strip.low[row] as number;
      const width = (this.strip.high[row] as number) - low;
      if (width > 0) {
        const height = blits.height(i);
        this.context.drawImage(
          this.pixels,
          low,
          row,
          width,
          blits.count(i),
          low,
          blits.top(i),
          width,
          height,
        );
      }
    }
  }

  /** Lines below rows, at round instants and at steps. */
  private drawGrid(scene: Scene, plan: Plan, top: number, { from, to }: Window): void {
    const { context } = this;
    const { dpr, camera, paint } = scene;
    const upper = Math.round(from * dpr);
    const height = Math.round(to * dpr) - upper;
    const hair = Math.max(1, Math.round(dpr));
    const xOf = (time: number) => Math.round(((time - camera.start) / camera.nsPerPx) * dpr);
    context.fillStyle = paint.palette.line;
    const { step, first, count } = rulerTicks(
      camera.start,
      camera.nsPerPx,
      scene.width,
      scene.origin,
    );
    context.globalAlpha = GRID_ALPHA;
    for (let i = first; i < first + count; i += 1) {
      context.fillRect(xOf(scene.origin + i * step), upper, hair, height);
    }
    context.globalAlpha = 1;
    for (let i = firstVisible(plan, from - top); i < plan.rows.length; i += 1) {
      const y = top + plan.stack.top(i + 1);
      if (y - 1 >= to) {
        break;
      }
      if (plan.stack.top(i + 1) > plan.stack.top(i)) {
        context.fillRect(0, Math.round(y * dpr) - hair, scene.deviceWidth, hair);
      }
    }
    context.fillStyle = paint.palette.inkFaint;
    context.globalAlpha = STEP_ALPHA;
    for (const instant of scene.steps) {
      context.fillRect(xOf(instant), upper, hair, height);
    }
    context.globalAlpha = 1;
  }

  private hatchOf({ paint, dpr }: Scene): CanvasPattern | string {
    const color = paint.palette.hatch;
    if (this.hatch?.color !== color || this.hatch.dpr !== dpr) {
      this.hatch = { color, dpr, pattern: makeHatch(this.context, color, dpr) ?? color };
    }
    return this.hatch.pattern;
  }
}

const GRID_ALPHA = 0.8;
const STEP_ALPHA = 0.45;

function firstVisible(plan: Plan, y: number): number {
  return Math.max(0, plan.stack.indexAt(y));
}

/** Diagonal lines, 5 CSS px apart. */
function makeHatch(
  context: CanvasRenderingContext2D,
  color: string,
  dpr: number,
): CanvasPattern | null {
  const size = Math.max(4, Math.round(6 * dpr));
  const tile = document.createElement("canvas");
  tile.width = size;
  tile.height = size;
  const pen = tile.getContext("2d");
  if (pen === null) {
    return null;
  }
  pen.strokeStyle = color;
  pen.lineWidth = Math.max(1, dpr);
  pen.beginPath();
  for (let offset = -size; offset <= size; offset += size) {
    pen.moveTo(offset - 1, size + 1);
    pen.lineTo(offset + size + 1, -1);
  }
  pen.stroke();
  return context.createPattern(tile, "repeat");
}
