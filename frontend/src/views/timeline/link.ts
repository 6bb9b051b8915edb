/**
 * What the address keeps of the Trace view, so that a copied link shows just the same: pure texts.
 *
 * Other views link here with `at`, `select` and `find` alone.
 */
import type { LayoutName } from "../../api/types.gen";
import type { MouseMode, SliceKey } from "../../timeline/contract";

/** ns on the axis of the view. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

export type Match = "text" | "regex" | "exact";
export type Unit = "step" | "trace" | "wall";
export type ArrowChoice = "selected" | "chain" | "launches" | "backward" | "view" | "none";
export type Alignment = "clock" | "start" | "step";
export type PanelTab = "summary" | "flame" | "slices" | "gpu" | "counters" | "notes" | "details";

const RANGE = /^(-?\d{1,19})-(-?\d{1,19})$/;

/** `-5-20` → from −5 to 20 ns; null for what is no range, or an empty one. */
export function parseRange(text: string | undefined): Range | null {
  const match = RANGE.exec(text ?? "");
  const start = Number(match?.[1]);
  const end = Number(match?.[2]);
  return match !== null && end > start ? { start, end } : null;
}

export const formatRange = ({ start, end }: Range): string =>
  `${Math.round(start)}-${Math.max(Math.round(end), Math.round(start) + 1)}`;

/** `4711`, or `1.4711` for the second source. */
export function parseSlice(text: string | undefined): SliceKey | null {
  const match = /^(?:(\d{1,3})\.)?(\d{1,10})$/.exec(text ?? "");
  return match === null ? null : { source: Number(match[1] ?? 0), slice: Number(match[2]) };
}

export const formatSlice = ({ source, slice }: SliceKey): string =>
  source === 0 ? String(slice) : `${source}.${slice}`;

export const sameSlice = (a: SliceKey | null, b: SliceKey | null): boolean =>
  a?.source === b?.source && a?.slice === b?.slice;

/** A chosen range of time and the ids of the rows it covers; none = all. */
export interface AreaLink extends Range {
  readonly rows: readonly string[];
}

/** `100-900_1abc.2def`: the rows follow by id. */
export function parseArea(text: string | undefined): AreaLink | null {
  const [times, rows = ""] = (text ?? "").split("_");
  const range = parseRange(times);
  return range === null ? null : { ...range, rows: rows.split(".").filter(Boolean) };
}

export const formatArea = (area: AreaLink): string =>
  formatRange(area) + (area.rows.length === 0 ? "" : `_${area.rows.join(".")}`);

/** One of the words, else the first of them. */
export function oneOf<T extends string>(words: readonly [T, ...T[]], text: string | undefined): T {
  return words.find((word) => word === text) ?? words[0];
}

export const LAYOUTS = [
  "user",
  "split",
  "filtered",
  "merged",
] as const satisfies readonly LayoutName[];
export const MODES = ["select", "pan", "zoom", "measure"] as const satisfies readonly MouseMode[];
export const MATCHES = ["text", "regex", "exact"] as const satisfies readonly Match[];
export const UNITS = ["step", "trace", "wall"] as const satisfies readonly Unit[];
export const ARROWS = [
  "selected",
  "chain",
  "launches",
  "backward",
  "view",
  "none",
] as const satisfies readonly ArrowChoice[];
export const ALIGNMENTS = ["clock", "start", "step"] as const satisfies readonly Alignment[];
export const TABS = [
  "summary",
  "flame",
  "slices",
  "gpu",
  "counters",
  "notes",
  "details",
] as const satisfies readonly PanelTab[];

/** Names of workers, in an order; commas in them are escaped. */
export const parseNames = (text: string | undefined): readonly string[] =>
  (text ?? "")
    .split(",")
    .filter(Boolean)
    .map((name) => name.replaceAll("%2C", ",").replaceAll("%25", "%"));

export const formatNames = (names: readonly string[]): string =>
  names.map((name) => name.replaceAll("%", "%25").replaceAll(",", "%2C")).join(",");
