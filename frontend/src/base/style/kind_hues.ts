/** What each kind of slice or call is called, and the hue that it wears wherever it is drawn. */
import { parseHex, type Rgb } from "./color";

export const KIND = {
  op: 0,
  annotation: 1,
  python: 2,
  module: 3,
  runtime: 4,
  overhead: 5,
  other: 6,
  loader: 7,
  compute: 8,
  communication: 9,
  memcpy: 10,
  memset: 11,
  deviceOther: 12,
  deviceAnnotation: 13,
  sync: 14,
  range: 15,
} as const;

/** How a kind is filled: a token, and shares of it over the surface that names pick from. */
export interface KindHue {
  readonly token: string;
  readonly shares: readonly number[];
}

const OTHER: KindHue = { token: "--k-other", shares: [0.7, 0.55, 0.42] };
const ANNOTATION: KindHue = { token: "--ink-3", shares: [0.24, 0.19] };

/** By kind. Hue = kind, lightness = name: neighbours differ, the meaning stays. */
export const HUES: readonly KindHue[] = [
  { token: "--k-cpu", shares: [0.95, 0.75, 0.58, 0.42] },
  ANNOTATION,
  { token: "--ink-3", shares: [0.3, 0.22, 0.16] },
  { token: "--accent", shares: [0.34, 0.26, 0.2] },
  { token: "--k-runtime", shares: [0.9, 0.7] },
  OTHER,
  OTHER,
  { token: "--k-loader", shares: [1, 0.88] },
  { token: "--k-compute", shares: [1, 0.88, 0.76] },
  { token: "--k-comm", shares: [1, 0.86] },
  { token: "--k-memcpy", shares: [0.95, 0.8] },
  { token: "--k-memset", shares: [1] },
  OTHER,
  ANNOTATION,
  { token: "--k-idle", shares: [1, 0.8] },
  OTHER,
];

/** Legend and chips: a word for each kind. */
const WORDS: readonly string[] = [
  "op",
  "annotation",
  "Python",
  "module",
  "launch",
  "overhead",
  "other",
  "DataLoader",
  "kernel",
  "collective",
  "copy",
  "memset",
  "other on the device",
  "device annotation",
  "sync",
  "range",
];

export const kindWord = (kind: number): string => WORDS[kind] ?? "slice";

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

/** A hue upon a ground, in its lightness steps, and the ink that can be read on each. */
export function paintOf({ token, shares }: KindHue, tokens: Tokens, ground: Rgb): KindPaint {
  const hue = parseHex(tokens(token));
  const fills = shares.map((share) => readable(hue, ground, share));
  return { fills, inks: fills.map(inkOn) };
}

/** How a kind is painted: lightness steps that a name picks from, and the ink of labels on each. */
export interface KindPaint {
  readonly fills: readonly string[];
  readonly inks: readonly string[];
}

/** By number of the kind. */
export function kindPaints(tokens: Tokens): readonly KindPaint[] {
  const ground = parseHex(tokens("--surface"));
  return HUES.map((hue) => paintOf(hue, tokens, ground));
}
