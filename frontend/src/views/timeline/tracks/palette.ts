/** The colours of the timeline out of the page's tokens, with inks that can be read upon them. */
import { parseHex, type Rgb } from "../../../base/style/color";
import type { TimelinePalette } from "../../../timeline/contract";
import { HUES, type KindHue } from "./kinds";

/** Reads a token: "#rrggbb". */
export type Tokens = (name: string) => string;

export const documentTokens: Tokens = (name) =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const DARK_INK = "#14181f";
const LIGHT_INK = "#ffffff";
const READABLE = 4.5;

const toHex = (rgb: Rgb) =>
  `#${rgb.map((channel) => Math.round(channel).toString(16).padStart(2, "0")).join("")}`;

function over(top: Rgb, ground: Rgb, share: number): Rgb {
  const at = (i: 0 | 1 | 2) => top[i] * share + ground[i] * (1 - share);
  return [at(0), at(1), at(2)];
}

/** Relative luminance as WCAG 2 defines it. */
function luminance(rgb: Rgb): number {
  const [r, g, b] = rgb.map((channel) => {
    const value = channel / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * (r ?? 0) + 0.7152 * (g ?? 0) + 0.0722 * (b ?? 0);
}

export function contrast(a: string, b: string): number {
  const [high, low] = [luminance(parseHex(a)), luminance(parseHex(b))].sort((x, y) => y - x);
  return ((high ?? 0) + 0.05) / ((low ?? 0) + 0.05);
}

const inkOn = (fill: string) =>
  contrast(fill, DARK_INK) >= contrast(fill, LIGHT_INK) ? DARK_INK : LIGHT_INK;

/** The fill nearest to the requested share upon which one of the inks can be read. */
function readable(hue: Rgb, ground: Rgb, share: number): string {
  const steps = Array.from({ length: 51 }, (_, i) => i / 50);
  const candidates = [share, ...steps.sort((a, b) => Math.abs(a - share) - Math.abs(b - share))];
  const fills = candidates.map((candidate) => toHex(over(hue, ground, candidate)));
  return fills.find((fill) => contrast(fill, inkOn(fill)) >= READABLE) ?? fills[0] ?? "#888888";
}

function kindOf({ token, shares }: KindHue, tokens: Tokens, ground: Rgb) {
  const hue = parseHex(tokens(token));
  const fills = shares.map((share) => readable(hue, ground, share));
  return { fills, inks: fills.map(inkOn) };
}

export function timelinePalette(tokens: Tokens): TimelinePalette {
  const surface = tokens("--surface");
  const ground = parseHex(surface);
  return {
    background: surface,
    line: tokens("--line"),
    ink: tokens("--ink"),
    inkFaint: tokens("--ink-3"),
    accent: tokens("--accent"),
    accentSoft: tokens("--accent-soft"),
    focus: tokens("--focus"),
    kinds: HUES.map((hue) => kindOf(hue, tokens, ground)),
    counter: {
      memory: tokens("--m-act"),
      utilization: tokens("--k-compute"),
      other: tokens("--k-runtime"),
    },
    hatch: tokens("--line-strong"),
  };
}
