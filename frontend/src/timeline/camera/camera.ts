/**
 * The camera: which time is at the left edge, how many ns a CSS px is, how far it is scrolled.
 *
 * Everything is a double. At 1 ns per px an hour into a trace the left edge is 3.6e12 ns, whose
 * neighbours are 0.0005 ns away.
 */
import type { Camera } from "../contract";

export interface MutableCamera {
  start: number;
  nsPerPx: number;
  scrollY: number;
}

/** What the camera must stay within. */
export interface Bounds {
  /** First and last instant of all sources. */
  low: number;
  high: number;
  /** Of the canvas, in CSS px. */
  width: number;
  maxScroll: number;
}

/** 1 ns is at most 50 px wide. */
export const FINEST_NS_PER_PX = 0.02;

/** So much of the view may lie beside the recording. */
const OVERSCROLL = 0.25;

export const timeAt = (camera: Camera, x: number): number => camera.start + x * camera.nsPerPx;

export const xAt = (camera: Camera, time: number): number => (time - camera.start) / camera.nsPerPx;

export function coarsestNsPerPx({ low, high, width }: Bounds): number {
  const whole = Math.max(high - low, 1) / Math.max(width, 1);
  return Math.max(FINEST_NS_PER_PX, whole * (1 + OVERSCROLL));
}

/** Keeps the scale around `anchorX` when it has to change. */
export function clamp(camera: MutableCamera, bounds: Bounds, anchorX = bounds.width / 2): void {
  const wanted = Number.isFinite(camera.nsPerPx) ? camera.nsPerPx : FINEST_NS_PER_PX;
  const scale = Math.max(FINEST_NS_PER_PX, Math.min(coarsestNsPerPx(bounds), wanted));
  if (scale !== camera.nsPerPx) {
    camera.start += anchorX * (wanted - scale);
    camera.nsPerPx = scale;
  }
  const view = bounds.width * scale;
  const least = bounds.low - OVERSCROLL * view;
  const most = bounds.high - (1 - OVERSCROLL) * view;
  camera.start = between(camera.start, least, Math.max(least, most));
  camera.scrollY = between(camera.scrollY, 0, Math.max(0, bounds.maxScroll));
}

function between(value: number, low: number, high: number): number {
  return Number.isFinite(value) ? Math.max(low, Math.min(high, value)) : low;
}

/** Zooms by a factor (below 1: closer) so that the time at `x` stays where it is. */
export function zoomAround(camera: MutableCamera, factor: number, x: number, bounds: Bounds): void {
  const time = timeAt(camera, x);
  const scale = Math.max(
    FINEST_NS_PER_PX,
    Math.min(coarsestNsPerPx(bounds), camera.nsPerPx * factor),
  );
  camera.nsPerPx = scale;
  camera.start = time - x * scale;
  clamp(camera, bounds, x);
}

/** Shows [start, end] with a margin on each side, as a share of the width. */
export function showSpan(
  camera: MutableCamera,
  start: number,
  end: number,
  bounds: Bounds,
  margin: number,
): void {
  const width = Math.max(bounds.width, 1);
  const inner = width * (1 - 2 * margin);
  const length = Math.max(end - start, 0);
  const scale = Math.max(FINEST_NS_PER_PX, length / Math.max(inner, 1));
  camera.nsPerPx = scale;
  camera.start = (start + end) / 2 - (width / 2) * scale;
  clamp(camera, bounds);
}

/**
 * The left edge moved to a whole device px, so that while panning everything moves by whole px and
 * no edge trembles against another.
 */
export function snappedStart(camera: Camera, dpr: number): number {
  const step = camera.nsPerPx / dpr;
  return Math.round(camera.start / step) * step;
}
