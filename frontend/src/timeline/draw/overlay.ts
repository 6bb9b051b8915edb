/** What lies over the picture and changes without it: pointer, selection, area, markers, arrows. */
import { time } from "../../base/text/format";
import type { Area, Hit, Marker, PlacedSlice } from "../contract";
import type { TrackRow } from "../rows/layout";
import { type ArrowPath, drawArrows, drawPill } from "./arrows";
import { type Box, boxOf, boxOfSlice, placeOf, type RowPlace } from "./places";
import type { OverlayScene } from "./scene";
import { pinnedHeight } from "./scene";

/** How strongly an area tints what is below it. */
const TINT_LIGHT = 0.09;
const TINT_DARK = 0.15;
/** The rows that an area does not cover. */
const FAINT = 0.4;
const LEAST_BOX = 3;

/** Whether the overlay would be empty. */
export const isNothingOver = (scene: OverlayScene): boolean =>
  (scene.hover === null || scene.hover.type === "counter") &&
  (scene.selection ?? scene.area ?? scene.measure ?? scene.zoomBand) === null &&
  scene.arrows.length === 0 &&
  scene.markers.length === 0;

export function drawOverlay(
  context: CanvasRenderingContext2D,
  scene: OverlayScene,
  paths: readonly ArrowPath[],
): void {
  context.setTransform(scene.dpr, 0, 0, scene.dpr, 0, 0);
  context.clearRect(0, 0, scene.width, scene.height);
  context.font = scene.font;
  for (const marker of scene.markers) {
    drawMarker(context, scene, marker);
  }
  if (scene.area !== null) {
    drawArea(context, scene, scene.area);
  }
  if (scene.zoomBand !== null) {
    drawArea(context, scene, scene.zoomBand);
  }
  drawHover(context, scene, scene.hover);
  if (scene.selection !== null) {
    drawSelection(context, scene, scene.selection);
  }
  drawArrows(context, paths, scene.paint.palette);
  if (scene.measure !== null) {
    drawMeasure(context, scene, scene.measure);
  }
}

const xOf = ({ camera }: OverlayScene, instant: number): number =>
  (instant - camera.start) / camera.nsPerPx;

/** On a px of the device, so that thin lines are sharp. */
const sharp = ({ dpr }: OverlayScene, x: number): number => Math.round(x * dpr) / dpr;

function drawArea(context: CanvasRenderingContext2D, scene: OverlayScene, area: Area): void {
  const left = Math.max(-2, Math.min(scene.width + 2, sharp(scene, xOf(scene, area.start))));
  const right = Math.max(-2, Math.min(scene.width + 2, sharp(scene, xOf(scene, area.end))));
  const { palette, isDark } = scene.paint;
  context.fillStyle = palette.accent;
  const tint = isDark ? TINT_DARK : TINT_LIGHT;
  context.globalAlpha = area.rows.length === 0 ? tint : tint * FAINT;
  context.fillRect(left, 0, right - left, scene.height);
  context.globalAlpha = tint;
  for (const place of placesOf(scene, area.rows)) {
    const top = Math.max(place.from, place.top);
    const end = Math.min(
      place.to,
      place.plan.stack.top(place.index + 1) - place.plan.stack.top(place.index) + place.top,
    );
    if (end > top) {
      context.fillRect(left, top, right - left, end - top);
    }
  }
  context.globalAlpha = 1;
  const hair = Math.max(1, Math.round(scene.dpr)) / scene.dpr;
  context.fillRect(left, 0, hair, scene.height);
  context.fillRect(right - hair, 0, hair, scene.height);
}

function placesOf(scene: OverlayScene, keys: readonly string[]): RowPlace[] {
  const places: RowPlace[] = [];
  for (const plan of [scene.pinned, scene.rows]) {
    for (const key of keys) {
      const place = placeOf(scene, plan, plan.stack.indexOf(key));
      if (place !== null) {
        places.push(place);
      }
    }
  }
  return places;
}

/** Limits drawing to the part of the canvas that shows the box; false when nothing is seen of it. */
function clipTo(context: CanvasRenderingContext2D, scene: OverlayScene, box: Box): boolean {
  if (box.left > scene.width + 4 || box.left + box.width < -4) {
    return false;
  }
  if (box.top > box.to || box.top + box.height < box.from) {
    return false;
  }
  context.save();
  context.beginPath();
  context.rect(0, box.from, scene.width, box.to - box.from);
  context.clip();
  return true;
}

/** The outline of a box, its lines around it; not wider than the canvas by much. */
function outline(
  context: CanvasRenderingContext2D,
  scene: OverlayScene,
  box: Box,
  width: number,
): void {
  const left = sharp(scene, Math.max(-8, box.left));
  const right = sharp(scene, Math.min(scene.width + 8, box.left + box.width));
  const top = sharp(scene, box.top);
  const bottom = sharp(scene, box.top + box.height);
  context.lineWidth = width;
  context.strokeRect(left - width / 2, top - width / 2, right - left + width, bottom - top + width);
}

function drawHover(context: CanvasRenderingContext2D, scene: OverlayScene, hit: Hit | null): void {
  if (hit === null || hit.type === "counter") {
    return;
  }
  for (const plan of [scene.pinned, scene.rows]) {
    const index = plan.stack.indexOf(hit.row);
    const place = placeOf(scene, plan, index);
    const row = plan.rows[index];
    if (place !== null && row?.type === "track") {
      drawHoverBox(context, scene, place, row.row, hit);
    }
  }
}

function drawHoverBox(
  context: CanvasRenderingContext2D,
  scene: OverlayScene,
  place: RowPlace,
  row: TrackRow,
  hit: Exclude<Hit, { type: "counter" }>,
): void {
  const box = boxOf(scene, place, row, hit.lane, hit.start, hit.end, LEAST_BOX);
  if (!clipTo(context, scene, box)) {
    return;
  }
  context.fillStyle = scene.paint.isDark ? "#ffffff" : scene.paint.palette.background;
  context.globalAlpha = 0.12;
  context.fillRect(box.left, box.top, box.width, box.height);
  context.globalAlpha = 1;
  context.strokeStyle = scene.paint.palette.ink;
  outline(context, scene, box, 1);
  context.restore();
}

function drawSelection(
  context: CanvasRenderingContext2D,
  scene: OverlayScene,
  slice: PlacedSlice,
): void {
  const box = boxOfSlice(scene, slice, LEAST_BOX);
  if (box === null || !clipTo(context, scene, box)) {
    return;
  }
  // A light line around the dark one parts it from whatever is beside it.
  context.strokeStyle = scene.paint.palette.background;
  outline(context, scene, box, 3);
  context.strokeStyle = scene.paint.palette.ink;
  outline(context, scene, box, 2);
  context.restore();
}

/** Lines and a tint; what is written on a marker stands on the ruler, where it hides no slice. */
function drawMarker(context: CanvasRenderingContext2D, scene: OverlayScene, marker: Marker): void {
  const { palette } = scene.paint;
  const x = sharp(scene, xOf(scene, marker.at));
  const end = marker.end === null ? x : sharp(scene, xOf(scene, marker.end));
  if (end < 0 || x > scene.width + 4) {
    return;
  }
  const top = 0;
  context.fillStyle = palette.focus;
  if (end > x) {
    context.globalAlpha = 0.07;
    context.fillRect(x, top, end - x, scene.height);
    context.globalAlpha = 1;
    context.fillRect(end, top, 1, scene.height);
  }
  context.fillRect(x, top, 1, scene.height);
}

/** A ruler with the length on it, in the middle of what is seen. */
function drawMeasure(context: CanvasRenderingContext2D, scene: OverlayScene, area: Area): void {
  const { palette } = scene.paint;
  const left = Math.max(-4, sharp(scene, xOf(scene, area.start)));
  const right = Math.min(scene.width + 4, sharp(scene, xOf(scene, area.end)));
  const y = Math.round(pinnedHeight(scene) + (scene.height - pinnedHeight(scene)) / 2);
  context.fillStyle = palette.accent;
  context.globalAlpha = 0.08;
  context.fillRect(left, 0, right - left, scene.height);
  context.globalAlpha = 1;
  context.fillRect(left, 0, 1, scene.height);
  context.fillRect(right - 1, 0, 1, scene.height);
  context.fillRect(left, y, right - left, 1);
  const text = time(area.end - area.start);
  const width = context.measureText(text).width + 12;
  const middle = Math.max(0, Math.min(scene.width - width, (left + right - width) / 2));
  drawPill(context, text, middle, y, width, palette, palette.accent);
}
