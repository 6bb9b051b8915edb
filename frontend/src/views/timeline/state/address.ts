import { useMemo } from "react";
import type { FrameLayout, LayoutName } from "../../../api/types.gen";
import { useAddress, useValues } from "../../../state/host/environment";
import type { Patch, Values } from "../../../state/location/fragment";
import type { Marker, MouseMode, SliceKey } from "../../../timeline/contract";
import { type Arrangement, formatArrangement, parseArrangement } from "./arrangement";

/**
 * What the address keeps of the Trace view, so that a copied link shows just the same: pure texts.
 *
 * Other views link here with `at`, `select` and `find` alone.
 */

/** ns on the axis of the view. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

export const MATCHES = ["text", "regex", "exact"] as const;
export const UNITS = ["step", "trace", "wall"] as const;
export const ARROWS = [
  "selected",
  "chain",
  "launches",
  "backward",
  "dependencies",
  "view",
  "none",
] as const;
export const ALIGNMENTS = ["clock", "start", "step"] as const;
export const TABS = ["summary", "flame", "slices", "gpu", "counters", "notes", "details"] as const;
export type Match = (typeof MATCHES)[number];
export type Unit = (typeof UNITS)[number];
export type ArrowChoice = (typeof ARROWS)[number];
export type Alignment = (typeof ALIGNMENTS)[number];
export type PanelTab = (typeof TABS)[number];

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

export const sameSlice = (a: SliceKey | undefined, b: SliceKey | undefined): boolean =>
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

export const FRAMES = [
  "user",
  "split",
  "filtered",
  "merged",
] as const satisfies readonly FrameLayout[];
/** Streams of replayed graphs: as the recording decides, by what their nodes do, or one by one. */
export const STREAMS = ["auto", "folded", "recorded"] as const;
export type StreamsChoice = (typeof STREAMS)[number];

/** The layout that shows frames and streams so. */
export const layoutOf = (frames: FrameLayout, streams: StreamsChoice): LayoutName =>
  streams === "auto" ? frames : `${frames}-${streams}`;
export const MODES = ["select", "pan", "zoom", "measure"] as const satisfies readonly MouseMode[];

/** Names of workers, in an order; commas in them are escaped. */
export const parseNames = (text: string | undefined): readonly string[] =>
  (text ?? "")
    .split(",")
    .filter(Boolean)
    .map((name) => name.replaceAll("%2C", ",").replaceAll("%25", "%"));

export const formatNames = (names: readonly string[]): string =>
  names.map((name) => name.replaceAll("%", "%25").replaceAll(",", "%2C")).join(",");

/** Notes of the user on the time axis, and their text for the address. */

export type Note = Marker;

/** Longer than this, a link would be cut by what it is pasted into. */
export const LINK_MAX = 1200;

const escaped = (text: string) => text.replaceAll("!", "!e").replaceAll("~", "!t");
const unescaped = (text: string) => text.replaceAll("!t", "~").replaceAll("!e", "!");

/** `500_900_slow here~1200__first step`: start, end or nothing, text. */
export const formatNotes = (notes: readonly Note[]): string =>
  notes
    .map(({ at, end, text }) =>
      [Math.round(at), end === null ? "" : Math.round(end), escaped(text)].join("_"),
    )
    .join("~");

export function parseNotes(text: string | undefined): readonly Note[] {
  return (text ?? "").split("~").flatMap((piece, place): Note[] => {
    const match = /^(-?\d{1,19})_(-?\d{1,19})?_(.*)$/s.exec(piece);
    if (match === null) {
      return [];
    }
    const end = match[2] === undefined ? null : Number(match[2]);
    return [{ id: `note-${place}`, at: Number(match[1]), end, text: unescaped(match[3] ?? "") }];
  });
}

/** The Trace view's part of the address: read as values, written as patches. */

/** All but the camera, which moves too often to be read from here. */
interface Kept {
  readonly frames: FrameLayout;
  readonly streams: StreamsChoice;
  readonly select: SliceKey | null;
  readonly area: AreaLink | null;
  readonly find: string;
  readonly match: Match;
  readonly mode: MouseMode;
  readonly arrows: ArrowChoice;
  readonly workers: readonly string[];
  readonly alignment: Alignment;
  readonly unit: Unit;
  /** null = the panel below is closed. */
  readonly tab: PanelTab | null;
  readonly notes: readonly Note[];
  readonly arrangement: Arrangement;
}

export interface Link extends Kept {
  /** What follows from the choice of frames and streams: the name by which the server knows it. */
  readonly layout: LayoutName;
}

export type LinkChange = Partial<Kept>;

const PREFIX = "timeline.";
const CAMERA = new Set(["timeline.at", "timeline.y"]);

function parseLink(values: Values): Link {
  const read = (key: string) => values[PREFIX + key];
  const tab = read("tab");
  const frames = oneOf(FRAMES, read("layout"));
  const streams = oneOf(STREAMS, read("streams"));
  return {
    frames,
    streams,
    layout: layoutOf(frames, streams),
    select: parseSlice(read("select")),
    area: parseArea(read("area")),
    find: read("find") ?? "",
    match: oneOf(MATCHES, read("match")),
    mode: oneOf(MODES, read("mode")),
    arrows: oneOf(ARROWS, read("arrows")),
    workers: parseNames(read("workers")),
    alignment: oneOf(ALIGNMENTS, read("align")),
    unit: oneOf(UNITS, read("unit")),
    tab: tab === undefined ? null : oneOf(TABS, tab),
    notes: parseNotes(read("notes")),
    arrangement: parseArrangement(read("rows")),
  };
}

/** What is the default says nothing, so that a link stays short. */
const unless = (usual: string, value: string) => (value === usual ? undefined : value);

const WRITERS: {
  readonly [K in keyof Kept]: (value: Kept[K]) => readonly [string, string | undefined];
} = {
  frames: (value) => ["layout", unless(FRAMES[0], value)],
  streams: (value) => ["streams", unless(STREAMS[0], value)],
  select: (value) => ["select", value === null ? undefined : formatSlice(value)],
  area: (value) => ["area", value === null ? undefined : formatArea(value)],
  find: (value) => ["find", value],
  match: (value) => ["match", unless(MATCHES[0], value)],
  mode: (value) => ["mode", unless(MODES[0], value)],
  arrows: (value) => ["arrows", unless(ARROWS[0], value)],
  workers: (value) => ["workers", formatNames(value)],
  alignment: (value) => ["align", unless(ALIGNMENTS[0], value)],
  unit: (value) => ["unit", unless(UNITS[0], value)],
  tab: (value) => ["tab", value ?? undefined],
  notes: (value) => ["notes", formatNotes(value)],
  arrangement: (value) => ["rows", formatArrangement(value)],
};

export function linkPatch(change: LinkChange): Patch {
  const entries = Object.entries(change).map(([key, value]) => {
    const write = WRITERS[key as keyof Kept] as (value: unknown) => readonly [string, string?];
    const [name, text] = write(value);
    return [PREFIX + name, text] as const;
  });
  return Object.fromEntries(entries);
}

const ownText = (values: Values) =>
  JSON.stringify(
    Object.entries(values).filter(([key]) => key.startsWith(PREFIX) && !CAMERA.has(key)),
  );

/** What the address says, and how to change it. */
export function useLink(): readonly [Link, (change: LinkChange) => void] {
  const address = useAddress();
  const text = ownText(useValues());
  const link = useMemo(
    () => parseLink(Object.fromEntries(JSON.parse(text) as [string, string][])),
    [text],
  );
  const change = useMemo(() => (patch: LinkChange) => address.replace(linkPatch(patch)), [address]);
  return [link, change];
}
