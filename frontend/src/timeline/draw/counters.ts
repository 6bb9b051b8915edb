/**
 * A series of values onto rows of the strip: in each pixel column a line from the lowest to the
 * highest value, and the ground below it. A value holds until the next one, so lines are steps.
 */
import type { CounterTile } from "../frame/counters";
import type { CounterPlan } from "../rows/plan";
import { cover, type Piece } from "../tiles/cover";
import { bucketNs, tileNs } from "../tiles/grid";
import type { TrackPainter } from "./tracks";

/** Above the highest value and below the lowest, in CSS px. */
const PAD = 3;
const NONE = -1;

const pieces: Piece<CounterTile>[] = [];

/** `top` is the upper edge of the row on the canvas, in CSS px. */
export function paintCounter(painter: TrackPainter, plan: CounterPlan, top: number): void {
  const { source, row, shelf } = plan;
  const { dpr, width } = painter.scale;
  const start = Math.max(painter.start - source.offset, source.source.startNs);
  const end = Math.min(painter.end - source.offset, source.source.endNs + 1);
  cover(shelf, Math.min(painter.level, source.coarsest), source.coarsest, start, end, pieces);
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
  curve.draw(painter.strip.pixels, first * width, height, thickness, colors.line, colors.ground);
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
    curve.add(x, tile.low[i] as number, tile.high[i] as number, tile.last[i] as number);
  }
  curve.hold(to);
}

/** The highest and the lowest row of pixels that the line reaches, by column. */
class Curve {
  private upper = new Int32Array(0);
  private lower = new Int32Array(0);
  private width = 0;
  private base = 0;
  private low = 0;
  private perUnit = 0;
  /** The value that holds, and the first column that is not painted yet. */
  private value = Number.NaN;
  private column = 0;

  reset(width: number, low: number, high: number, height: number): void {
    if (this.upper.length < width) {
      this.upper = new Int32Array(width);
      this.lower = new Int32Array(width);
    }
    this.upper.fill(NONE, 0, width);
    this.width = width;
    this.base = height;
    this.low = low;
    this.perUnit = height / (high > low ? high - low : 1);
    this.value = Number.NaN;
    this.column = 0;
  }

  /** From here on another tile tells; `value` holds at its edge. */
  begin(x: number, value: number): void {
    this.column = Math.max(this.column, Math.min(this.width, Math.round(x)));
    this.value = value;
  }

  /** The value that holds is drawn up to `x`. */
  hold(x: number): void {
    const end = Math.min(this.width, Math.round(x));
    if (Number.isFinite(this.value)) {
      const y = this.yOf(this.value);
      for (let column = this.column; column < end; column += 1) {
        this.reach(column, y);
      }
    }
    this.column = Math.max(this.column, end);
  }

  add(x: number, low: number, high: number, last: number): void {
    if (!Number.isFinite(low + high + last)) {
      return;
    }
    const column = Math.floor(x);
    this.hold(column);
    if (column >= 0 && column < this.width) {
      if (Number.isFinite(this.value)) {
        this.reach(column, this.yOf(this.value));
      }
      this.reach(column, this.yOf(high));
      this.reach(column, this.yOf(low));
      this.column = Math.max(this.column, column + 1);
    }
    this.value = last;
  }

  private yOf(value: number): number {
    const y = Math.round(this.base - (value - this.low) * this.perUnit);
    return Math.max(0, Math.min(this.base, y));
  }

  private reach(column: number, y: number): void {
    const upper = this.upper[column] as number;
    if (upper === NONE) {
      this.upper[column] = y;
      this.lower[column] = y;
    } else {
      this.upper[column] = Math.min(upper, y);
      this.lower[column] = Math.max(this.lower[column] as number, y);
    }
  }

  draw(
    pixels: Uint32Array,
    begin: number,
    height: number,
    thickness: number,
    line: number,
    ground: number,
  ): void {
    const { width } = this;
    for (let column = 0; column < width; column += 1) {
      const upper = this.upper[column] as number;
      if (upper !== NONE) {
        const lineEnd = (this.lower[column] as number) + thickness;
        for (let y = upper; y < height; y += 1) {
          pixels[begin + y * width + column] = y < lineEnd ? line : ground;
        }
      }
    }
  }
}

const curve = new Curve();
