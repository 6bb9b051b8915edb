/**
 * How the camera moves: input sets a target, and a critically damped approach follows it. While a key
 * is held the target itself moves, ever faster.
 */
import type { Move } from "../contract";
import { type Bounds, clamp, type MutableCamera, zoomAround } from "./camera";

/** After so many ms the camera has come two thirds of the way. */
const SETTLE_MS = 45;

/** Nearer than this, in px, is there. */
const THERE_PX = 0.05;

/**
 * Brings `camera` nearer to `target`; true when it is there. The scale moves in steps of equal ratio,
 * and the left edge so with it that the time below a zooming pointer stays below it.
 */
export function approach(
  camera: MutableCamera,
  target: Readonly<MutableCamera>,
  elapsedMs: number,
  width: number,
): boolean {
  const share = 1 - Math.exp(-Math.max(elapsedMs, 0) / SETTLE_MS);
  const scaleGap = target.nsPerPx - camera.nsPerPx;
  const scale = camera.nsPerPx * (target.nsPerPx / camera.nsPerPx) ** share;
  const isScaling = Math.abs(scaleGap) * width > THERE_PX * target.nsPerPx;
  const way = isScaling ? (scale - camera.nsPerPx) / scaleGap : share;
  camera.start += (target.start - camera.start) * way;
  camera.nsPerPx = isScaling ? scale : target.nsPerPx;
  camera.scrollY += (target.scrollY - camera.scrollY) * share;
  if (
    isScaling ||
    Math.abs(target.start - camera.start) > THERE_PX * target.nsPerPx ||
    Math.abs(target.scrollY - camera.scrollY) > THERE_PX
  ) {
    return false;
  }
  jump(camera, target);
  return true;
}

export function jump(camera: MutableCamera, target: Readonly<MutableCamera>): void {
  camera.start = target.start;
  camera.nsPerPx = target.nsPerPx;
  camera.scrollY = target.scrollY;
}

/** Speeds of held keys: px per second, and the logarithm of the scale per second. */
const PAN_SPEED = 700;
const ZOOM_SPEED = 2.2;
const SCROLL_SPEED = 600;
const FASTEST = 3.5;
const FULL_SPEED_AFTER_MS = 1200;
const SHIFT_FACTOR = 3;

/** Keys that are down. */
export class HeldKeys {
  private readonly held = new Map<Move, { sinceMs: number; isFast: boolean }>();

  press(move: Move, isFast: boolean): void {
    const earlier = this.held.get(move);
    this.held.set(move, { sinceMs: earlier?.sinceMs ?? 0, isFast });
  }

  release(move: Move): void {
    this.held.delete(move);
  }

  releaseAll(): void {
    this.held.clear();
  }

  get isEmpty(): boolean {
    return this.held.size === 0;
  }

  /** Moves the target as far as the held keys do in that time. */
  advance(target: MutableCamera, elapsedMs: number, bounds: Bounds, anchorX: number): void {
    for (const [move, key] of this.held) {
      key.sinceMs += elapsedMs;
      const ramp = Math.min(1, key.sinceMs / FULL_SPEED_AFTER_MS);
      const speed = (1 + (FASTEST - 1) * ramp) * (key.isFast ? SHIFT_FACTOR : 1);
      shift(target, move, (speed * elapsedMs) / 1000, bounds, anchorX);
    }
    clamp(target, bounds);
  }
}

function shift(
  target: MutableCamera,
  move: Move,
  amount: number,
  bounds: Bounds,
  anchorX: number,
): void {
  switch (move) {
    case "left":
      target.start -= PAN_SPEED * amount * target.nsPerPx;
      return;
    case "right":
      target.start += PAN_SPEED * amount * target.nsPerPx;
      return;
    case "in":
      zoomAround(target, Math.exp(-ZOOM_SPEED * amount), anchorX, bounds);
      return;
    case "out":
      zoomAround(target, Math.exp(ZOOM_SPEED * amount), anchorX, bounds);
      return;
    case "up":
      target.scrollY -= SCROLL_SPEED * amount;
      return;
    case "down":
      target.scrollY += SCROLL_SPEED * amount;
      return;
  }
}
