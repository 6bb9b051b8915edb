/**
 * A series of values onto rows of the strip. A value holds until the next one, so the line is one of
 * steps. Where a pixel column holds more than one value, a band reaches from the lowest to the
 * highest, so that no peak is lost, and the line goes through the mean.
 */
import type { CounterTile } from "../frame/counters";
import type { CounterPlan } from "../rows/plan";
import { cover, type Piece } from "../tiles/cover";
import { bucketNs, tileNs } from "../tiles/grid";
import { Curve } from "./curve";
import type { TrackPainter } from "./tracks";

/** Above the highest value and below the lowest, in CSS px. */
const PAD = 3;

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
