/** Where things are on the canvas, in CSS px: rows by height, slices by track and lane. */
import type { PlacedSlice } from "../contract";
import { lanePitch, laneTop, PAD_TOP, type TrackRow } from "../rows/layout";
import type { Plan } from "../rows/plan";
import { pinnedHeight, type Scene } from "./scene";

/** A row, and the part of the canvas that it is seen through. */
export interface RowPlace {
  readonly plan: Plan;
  readonly index: number;
  /** Upper edge of the row on the canvas. */
  readonly top: number;
  /** What is above or below this is not seen. */
  readonly from: number;
  readonly to: number;
}

export type Geometry = Pick<Scene, "pinned" | "rows" | "camera" | "height">;

export function rowAt(scene: Geometry, y: number): RowPlace | null {
  const edge = Math.min(pinnedHeight(scene), scene.height);
  if (y < edge) {
    return placeOf(scene, scene.pinned, scene.pinned.stack.indexAt(y));
  }
  return placeOf(scene, scene.rows, scene.rows.stack.indexAt(y - edge + scene.camera.scrollY));
}

export function placeOf(scene: Geometry, plan: Plan, index: number): RowPlace | null {
  if (index < 0 || index >= plan.rows.length) {
    return null;
  }
  const edge = Math.min(pinnedHeight(scene), scene.height);
  const isPinned = plan === scene.pinned;
  return {
    plan,
    index,
    top: plan.stack.top(index) + (isPinned ? 0 : edge - scene.camera.scrollY),
    from: isPinned ? 0 : edge,
    to: isPinned ? edge : scene.height,
  };
}

/** The row that shows a track, the pinned one first. */
export function rowOfTrack(scene: Geometry, source: number, track: number): RowPlace | null {
  return (
    placeOf(scene, scene.pinned, scene.pinned.indexOfTrack(source, track)) ??
    placeOf(scene, scene.rows, scene.rows.indexOfTrack(source, track))
  );
}

export interface Box {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  readonly from: number;
  readonly to: number;
}

/** A stretch of time in a lane of a row. Narrow ones are `least` px wide. */
export function boxOf(
  scene: Pick<Scene, "camera">,
  place: RowPlace,
  row: TrackRow,
  lane: number,
  start: number,
  end: number,
  least: number,
): Box {
  const { camera } = scene;
  const left = (start - camera.start) / camera.nsPerPx;
  const width = (end - start) / camera.nsPerPx;
  const pitch = lanePitch(row, lane);
  return {
    left: width < least ? left - (least - width) / 2 : left,
    width: Math.max(width, least),
    top: place.top + PAD_TOP + laneTop(row, lane),
    height: pitch > 2 ? pitch - 1 : pitch,
    from: place.from,
    to: place.to,
  };
}

/** Where a slice is drawn; null when no row shows it. */
export function boxOfSlice(scene: Geometry, slice: PlacedSlice, least: number): Box | null {
  const place = rowOfTrack(scene, slice.key.source, slice.track);
  const plan = place?.plan.rows[place.index];
  if (place === null || plan?.type !== "track") {
    return null;
  }
  if (slice.lane < plan.row.firstLane || slice.lane >= plan.row.lanes) {
    return null;
  }
  return boxOf(scene, place, plan.row, slice.lane, slice.start, slice.end, least);
}
