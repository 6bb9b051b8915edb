/** The lanes of a track onto rows of the strip. */
import { LANE_BLOCK } from "../frame/frame";
import type { SliceTile } from "../frame/slices";
import {
  HEAT_LANES,
  HEAT_ROWS,
  HEAT_STRIP,
  isFullLane,
  lanePitch,
  lanesDrawn,
  laneTop,
  PAD_TOP,
} from "../rows/layout";
import type { TrackPlan } from "../rows/plan";
import { cover, type Piece } from "../tiles/cover";
import type { SliceTiles } from "../tiles/store";
import { type LanePainter, type LanePlace, paintLane } from "./lane";

/** Which rows of the strip go where on the canvas: px of the device. */
export class Blits {
  length = 0;
  private column = new Int32Array(4 * 128);

  reset(): void {
    this.length = 0;
  }

  /** `count` rows from `row` on, stretched to `height`. */
  push(row: number, count: number, top: number, height: number): void {
    if (this.length * 4 === this.column.length) {
      const larger = new Int32Array(this.column.length * 2);
      larger.set(this.column);
      this.column = larger;
    }
    this.column.set([row, count, top, height], this.length * 4);
    this.length += 1;
  }

  row = (i: number) => this.column[4 * i] as number;
  count = (i: number) => this.column[4 * i + 1] as number;
  top = (i: number) => this.column[4 * i + 2] as number;
  height = (i: number) => this.column[4 * i + 3] as number;
}

/** Part of a picture that is drawn in one go. */
export interface TrackPainter extends LanePainter {
  readonly blits: Blits;
  /** Of the view: level of detail and times on its axis. */
  readonly level: number;
  readonly start: number;
  readonly end: number;
  readonly frame: number;
}

const pieces: Piece<SliceTile>[] = [];

/** `top` is the upper edge of the row on the canvas; what is not in [from, to) is not drawn. */
export function paintTrack(
  painter: TrackPainter,
  plan: TrackPlan,
  top: number,
  from: number,
  to: number,
): void {
  if (plan.row.mode === "heat") {
    paintHeat(painter, plan, top);
    return;
  }
  const { row } = plan;
  const end = row.firstLane + lanesDrawn(row);
  let block = -1;
  for (let lane = row.firstLane; lane < end; lane += 1) {
    const y = top + PAD_TOP + laneTop(row, lane);
    const pitch = lanePitch(row, lane);
    if (y >= to) {
      return;
    }
    if (y + pitch > from) {
      const needed = Math.floor(lane / LANE_BLOCK);
      if (needed !== block) {
        block = needed;
        coverBlock(painter, plan, plan.shelves[block]);
      }
      paintOwnRow(painter, plan, lane, y, pitch);
    }
  }
}

/** The pieces of a lane block for the time in view. */
function coverBlock(
  painter: TrackPainter,
  plan: TrackPlan,
  laneTiles: SliceTiles | undefined,
): void {
  pieces.length = 0;
  if (laneTiles === undefined) {
    return;
  }
  const { source, coarsest, offset } = plan.source;
  const start = Math.max(painter.start - offset, source.startNs);
  const end = Math.min(painter.end - offset, source.endNs + 1);
  cover(laneTiles, Math.min(painter.level, coarsest), coarsest, start, end, pieces);
  for (const piece of pieces) {
    piece.tile.used = painter.frame;
  }
}

const place: LanePlace = {
  lane: 0,
  names: undefined as unknown as LanePlace["names"],
  offset: 0,
  top: 0,
  height: 0,
  hasLabels: false,
};

function paintOwnRow(
  painter: TrackPainter,
  plan: TrackPlan,
  lane: number,
  y: number,
  pitch: number,
): void {
  const { dpr } = painter.scale;
  const top = Math.round(y * dpr);
  const height = Math.max(1, Math.round((y + pitch) * dpr) - top - Math.max(1, Math.round(dpr)));
  painter.blits.push(painter.strip.openRow(), 1, top, height);
  paintPieces(painter, plan, lane, top / dpr, height / dpr, isFullLane(plan.row, lane));
  painter.strip.closeRow();
}

function paintPieces(
  painter: TrackPainter,
  plan: TrackPlan,
  lane: number,
  top: number,
  height: number,
  hasLabels: boolean,
): void {
  place.lane = lane % LANE_BLOCK;
  place.names = plan.source.names;
  place.offset = plan.source.offset;
  place.top = top;
  place.height = height;
  place.hasLabels = hasLabels;
  for (const piece of pieces) {
    if (place.lane < piece.tile.lanes) {
      paintLane(painter, piece, place);
    }
  }
}

/** All lanes in one strip: neighbouring ones share a row of pixels where there are many. */
function paintHeat(painter: TrackPainter, plan: TrackPlan, top: number): void {
  const { dpr } = painter.scale;
  const { firstLane } = plan.row;
  const lanes = Math.min(lanesDrawn(plan.row), HEAT_LANES);
  const rows = Math.min(lanes, HEAT_ROWS);
  let block = -1;
  for (let i = 0; i < rows; i += 1) {
    const y = top + PAD_TOP + (i * HEAT_STRIP) / rows;
    const upper = Math.round(y * dpr);
    const height = Math.max(1, Math.round((y + HEAT_STRIP / rows) * dpr) - upper);
    painter.blits.push(painter.strip.openRow(), 1, upper, height);
    const end = firstLane + Math.ceil(((i + 1) * lanes) / rows);
    for (let lane = firstLane + Math.ceil((i * lanes) / rows); lane < end; lane += 1) {
      const needed = Math.floor(lane / LANE_BLOCK);
      if (needed !== block) {
        block = needed;
        coverBlock(painter, plan, plan.shelves[block]);
      }
      paintPieces(painter, plan, lane, y, HEAT_STRIP / rows, false);
    }
    painter.strip.closeRow();
  }
}
