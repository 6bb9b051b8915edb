/** The kinds of slices: what they are called, and which hue of the page they wear. */

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

/** Category of the page's fills, for bars in tables. */
const CATEGORIES: Readonly<Record<number, string>> = {
  [KIND.op]: "cpu",
  [KIND.runtime]: "runtime",
  [KIND.loader]: "loader",
  [KIND.compute]: "compute",
  [KIND.communication]: "comm",
  [KIND.memcpy]: "memcpy",
  [KIND.memset]: "memset",
};

export const kindCategory = (kind: number): string => CATEGORIES[kind] ?? "other";

/** Kinds worth a place in the legend, in its order; others are named when they are selected. */
export const LEGEND_ORDER: readonly number[] = [
  KIND.op,
  KIND.module,
  KIND.python,
  KIND.loader,
  KIND.runtime,
  KIND.compute,
  KIND.communication,
  KIND.memcpy,
  KIND.memset,
  KIND.annotation,
  KIND.sync,
];

/** A small square in the hue of a kind. */
export function KindSwatch({ fill }: { fill: string | undefined }) {
  return <i className="swatch" style={{ background: fill }} aria-hidden="true" />;
}
