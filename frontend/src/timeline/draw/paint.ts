/** The palette in the form in which pixels are written: 0xAABBGGRR. */
import type { TimelinePalette } from "../contract";

/** A kind has at most so many lightness steps. */
export const MAX_STEPS = 8;

export interface Paint {
  readonly palette: TimelinePalette;
  /** By kind · MAX_STEPS + step. */
  readonly fills: Uint32Array;
  /** How many steps each kind has. */
  readonly steps: Uint8Array;
  /** Label inks: index into `inks` by kind · MAX_STEPS + step. */
  readonly inkOf: Uint8Array;
  readonly inks: readonly string[];
  readonly counters: Readonly<Record<Tone, CounterPaint>>;
  readonly isDark: boolean;
}

type Tone = keyof TimelinePalette["counter"];

export interface CounterPaint {
  readonly line: number;
  /** From the lowest to the highest value, where there is more than one. */
  readonly band: number;
  /** Below all of it. */
  readonly ground: number;
}

/** Any CSS colour as the canvas understands it: `#rrggbb`, or `rgba(r, g, b, a)`. */
export type Normalize = (color: string) => string;

/** Channels 0–255 of a normalised colour; opaque grey if it is of another form. */
export function packColor(normalized: string): number {
  const hex = /^#([0-9a-f]{6})$/i.exec(normalized.trim());
  if (hex?.[1] !== undefined) {
    const value = Number.parseInt(hex[1], 16);
    return pack((value >> 16) & 255, (value >> 8) & 255, value & 255, 1);
  }
  const channels = /^rgba?\(([^)]+)\)$/i.exec(normalized.trim());
  const parts = (channels?.[1] ?? "").split(/[,\s/]+/).map(Number.parseFloat);
  const [r = Number.NaN, g = Number.NaN, b = Number.NaN, alpha = 1] = parts;
  return Number.isFinite(r + g + b + alpha) ? pack(r, g, b, alpha) : pack(128, 128, 128, 1);
}

function pack(r: number, g: number, b: number, alpha: number): number {
  return ((Math.round(alpha * 255) << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

/** How light a packed colour is, 0 … 1. */
const lightness = (color: number) =>
  (0.2126 * (color & 255) + 0.7152 * ((color >> 8) & 255) + 0.0722 * ((color >> 16) & 255)) / 255;

export const withAlpha = (color: number, alpha: number): number =>
  ((color & 0xffffff) | (alpha << 24)) >>> 0;

const GROUND_LIGHT = 0x38;
const GROUND_DARK = 0x59;
const BAND_LIGHT = 0x78;
const BAND_DARK = 0x90;

export function makePaint(palette: TimelinePalette, normalize: Normalize): Paint {
  const kinds = palette.kinds.length;
  const fills = new Uint32Array(256 * MAX_STEPS).fill(packColor("#808080"));
  const steps = new Uint8Array(256).fill(1);
  const inkOf = new Uint8Array(256 * MAX_STEPS);
  const inks: string[] = [];
  const indexOfInk = (ink: string) => {
    const known = inks.indexOf(ink);
    return known >= 0 ? known : inks.push(ink) - 1;
  };
  indexOfInk(palette.ink);
  for (let kind = 0; kind < Math.min(kinds, 256); kind += 1) {
    const { fills: colors, inks: labels } = palette.kinds[kind] ?? { fills: [], inks: [] };
    steps[kind] = Math.max(1, Math.min(MAX_STEPS, colors.length));
    colors.slice(0, MAX_STEPS).forEach((color, step) => {
      fills[kind * MAX_STEPS + step] = packColor(normalize(color));
      inkOf[kind * MAX_STEPS + step] = indexOfInk(labels[step] ?? palette.ink);
    });
  }
  const isDark = lightness(packColor(normalize(palette.background))) < 0.5;
  const counter = (tone: Tone): CounterPaint => {
    const line = packColor(normalize(palette.counter[tone]));
    return {
      line,
      band: withAlpha(line, isDark ? BAND_DARK : BAND_LIGHT),
      ground: withAlpha(line, isDark ? GROUND_DARK : GROUND_LIGHT),
    };
  };
  const counters = {
    memory: counter("memory"),
    utilization: counter("utilization"),
    other: counter("other"),
  };
  return { palette, fills, steps, inkOf, inks, counters, isDark };
}
