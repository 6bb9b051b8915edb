/** One lane of one tile onto a row of the strip. */
import { SLICE_FLAGS, type SliceTile } from "../frame/slices";
import type { NameTable } from "../names/name_table";
import type { Piece } from "../tiles/cover";
import { bucketNs, tileNs } from "../tiles/grid";
import type { Labels } from "./labels";
import { LEAST_LABEL } from "./labels";
import type { Marks } from "./marks";
import { MAX_STEPS, type Paint, withAlpha } from "./paint";
import type { Strip } from "./strip";

/** How times become device px. */
export interface Scale {
  /** Time at the left edge of the canvas, on the axis of the view. */
  readonly start: number;
  readonly nsPerPx: number;
  readonly dpr: number;
  /** Of the canvas, in device px. */
  readonly width: number;
}

/** What lanes are painted with, and where what is not pixels is gathered. */
export interface LanePainter {
  readonly scale: Scale;
  readonly strip: Strip;
  readonly paint: Paint;
  readonly labels: Labels;
  readonly marks: Marks;
}

/** The lane, where it is, and what belongs to its source. */
export interface LanePlace {
  /** Within the block. */
  lane: number;
  names: NameTable;
  /** ns to add to the times of the trace. */
  offset: number;
  /** Upper edge and height on the canvas, in CSS px. */
  top: number;
  height: number;
  hasLabels: boolean;
}

/** Wider than this, in CSS px, a slice ends a device px early, so that its neighbour is seen. */
const GAP_FROM = 4;
/** Narrower ones fade at their last px instead. */
const FADED = 0.6;
/** Wider than this, in device px, a slice has whole pixels. */
const SOLID_FROM = 2;
/** Lower lanes are not hatched, in CSS px: it would be all that is left of them. */
const LEAST_HATCH = 4;
/** What is not highlighted. */
const DIMMED_ALPHA = 0x2e;
/** Buckets of level 0 hold instants; wider than this, in CSS px, they are markers. */
const MARKER_FROM = 4;

export function paintLane(painter: LanePainter, piece: Piece<SliceTile>, place: LanePlace): void {
  const { scale } = painter;
  const { tile } = piece;
  const origin = (tile.tile * tileNs(tile.level) + place.offset - scale.start) / scale.nsPerPx;
  const bucket = bucketNs(tile.level) / scale.nsPerPx;
  const from = Math.max(0, (piece.start + place.offset - scale.start) / scale.nsPerPx);
  const to = Math.min(scale.width, (piece.end + place.offset - scale.start) / scale.nsPerPx);
  if (from < to) {
    paintBuckets(painter, tile, place, origin, bucket, from, to);
    paintRects(painter, tile, place, origin, bucket, from, to);
  }
}

/** Index of the first value in [low, high) of a rising column that is above `limit`; else high. */
export function firstAbove(
  column: Float32Array | Uint16Array,
  low: number,
  high: number,
  limit: number,
): number {
  let first = low;
  let end = high;
  while (first < end) {
    const middle = (first + end) >> 1;
    if ((column[middle] as number) > limit) {
      end = middle;
    } else {
      first = middle + 1;
    }
  }
  return first;
}

/** The colour of a record: hue by kind, lightness by name, pale when it is not highlighted. */
function colorOf({ paint }: LanePainter, names: NameTable, kind: number, name: number): number {
  const fill = paint.fills[shadeOf(paint, names, kind, name)] as number;
  return names.isLit[name] === 0 ? withAlpha(fill, DIMMED_ALPHA) : fill;
}

const shadeOf = (paint: Paint, names: NameTable, kind: number, name: number): number =>
  kind * MAX_STEPS + ((names.hashes[name] ?? 0) % (paint.steps[kind] as number));

function paintRects(
  painter: LanePainter,
  tile: SliceTile,
  place: LanePlace,
  origin: number,
  bucket: number,
  from: number,
  to: number,
): void {
  const { x0, x1, rectName, rectKind } = tile;
  const end = tile.rectFirst[place.lane + 1] as number;
  let i = firstAbove(x1, tile.rectFirst[place.lane] as number, end, (from - origin) / bucket);
  for (; i < end; i += 1) {
    const left = origin + (x0[i] as number) * bucket;
    if (left >= to) {
      return;
    }
    const right = origin + (x1[i] as number) * bucket;
    const color = colorOf(painter, place.names, rectKind[i] as number, rectName[i] as number);
    if (right - left < SOLID_FROM) {
      painter.strip.fine(Math.max(left, from), Math.min(right, to), 1, color);
    } else {
      paintWide(painter, tile, place, i, Math.max(left, from), right, to, color);
    }
  }
}

/** A rectangle of whole pixels. `to` is where the tile ends to be drawn. */
function paintWide(
  painter: LanePainter,
  tile: SliceTile,
  place: LanePlace,
  i: number,
  left: number,
  right: number,
  to: number,
  color: number,
): void {
  const flags = tile.rectFlags[i] as number;
  const goesOn = right > to || (flags & SLICE_FLAGS.toRight) !== 0;
  const edge = Math.min(right, to);
  paintSolid(painter.strip, left, edge, goesOn, color, painter.scale.dpr);
  if (right - left >= LEAST_LABEL * painter.scale.dpr || isPart(flags)) {
    addMarks(painter, tile, i, place, left, edge);
  }
}

/** Whether other tiles hold the rest of the slice. */
const isPart = (flags: number) => (flags & (SLICE_FLAGS.fromLeft | SLICE_FLAGS.toRight)) !== 0;

function paintSolid(
  strip: Strip,
  left: number,
  right: number,
  goesOn: boolean,
  color: number,
  dpr: number,
): void {
  const first = Math.round(left);
  const end = Math.round(right);
  if (goesOn) {
    strip.solid(first, end, color);
  } else if (right - left >= GAP_FROM * dpr) {
    strip.solid(first, end - 1, color);
  } else {
    strip.solid(first, end - 1, color);
    const faded = withAlpha(color, Math.round((color >>> 24) * FADED));
    strip.solid(Math.max(first, end - 1), end, faded);
  }
}

/** Of a wide slice: its label, and the hatching of what cannot be trusted. */
function addMarks(
  painter: LanePainter,
  tile: SliceTile,
  i: number,
  place: LanePlace,
  left: number,
  right: number,
): void {
  const { dpr } = painter.scale;
  const flags = tile.rectFlags[i] as number;
  if (
    (flags & (SLICE_FLAGS.overlap | SLICE_FLAGS.incomplete)) !== 0 &&
    place.height >= LEAST_HATCH
  ) {
    painter.marks.addHatch(Math.round(left), Math.round(right), place.top, place.height);
  }
  if (place.hasLabels) {
    const name = tile.rectName[i] as number;
    const shade = shadeOf(painter.paint, place.names, tile.rectKind[i] as number, name);
    const isDim = place.names.isLit[name] === 0;
    painter.labels.add(
      place.names,
      name,
      tile.rect[i] as number,
      left / dpr,
      right / dpr,
      place.top + place.height / 2,
      isDim ? -1 : (painter.paint.inkOf[shade] as number),
    );
  }
}

function paintBuckets(
  painter: LanePainter,
  tile: SliceTile,
  place: LanePlace,
  origin: number,
  bucket: number,
  from: number,
  to: number,
): void {
  const { strip, scale } = painter;
  const { x, bucketName, bucketKind, busy } = tile;
  const end = tile.bucketFirst[place.lane + 1] as number;
  const isMarker = tile.level === 0 && bucket >= MARKER_FROM * scale.dpr;
  const slack = isMarker ? MARKER_FROM * scale.dpr : 0;
  const begin = tile.bucketFirst[place.lane] as number;
  let i = firstAbove(x, begin, end, (from - slack - origin) / bucket - 1);
  for (; i < end; i += 1) {
    const left = origin + (x[i] as number) * bucket;
    if (left >= to) {
      return;
    }
    const color = colorOf(painter, place.names, bucketKind[i] as number, bucketName[i] as number);
    if (isMarker) {
      painter.marks.addInstant(left, place.top, place.height, color);
    } else {
      const right = Math.min(left + bucket, to);
      strip.fine(Math.max(left, from), right, (busy[i] as number) / 255, color);
    }
  }
}
