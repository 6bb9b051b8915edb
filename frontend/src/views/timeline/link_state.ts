/** The Trace view's part of the address: read as values, written as patches. */
import { useMemo } from "react";
import type { LayoutName } from "../../api/types.gen";
import { useAddress, useValues } from "../../state/environment";
import type { Patch, Values } from "../../state/fragment";
import type { MouseMode, SliceKey } from "../../timeline/contract";
import { type Arrangement, formatArrangement, parseArrangement } from "./arrangement";
import {
  ALIGNMENTS,
  type Alignment,
  ARROWS,
  type AreaLink,
  type ArrowChoice,
  formatArea,
  formatNames,
  formatSlice,
  LAYOUTS,
  MATCHES,
  type Match,
  MODES,
  oneOf,
  type PanelTab,
  parseArea,
  parseNames,
  parseSlice,
  TABS,
  UNITS,
  type Unit,
} from "./link";
import { formatNotes, type Note, parseNotes } from "./notes";

/** All but the camera, which moves too often to be read from here. */
export interface Link {
  readonly layout: LayoutName;
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

const PREFIX = "timeline.";
const CAMERA = new Set(["timeline.at", "timeline.y"]);

function parseLink(values: Values): Link {
  const read = (key: string) => values[PREFIX + key];
  const tab = read("tab");
  return {
    layout: oneOf(LAYOUTS, read("layout")),
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
  readonly [K in keyof Link]: (value: Link[K]) => readonly [string, string | undefined];
} = {
  layout: (value) => ["layout", unless(LAYOUTS[0], value)],
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

export function linkPatch(change: Partial<Link>): Patch {
  const entries = Object.entries(change).map(([key, value]) => {
    const write = WRITERS[key as keyof Link] as (value: unknown) => readonly [string, string?];
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
export function useLink(): readonly [Link, (change: Partial<Link>) => void] {
  const address = useAddress();
  const text = ownText(useValues());
  const link = useMemo(
    () => parseLink(Object.fromEntries(JSON.parse(text) as [string, string][])),
    [text],
  );
  const change = useMemo(
    () => (patch: Partial<Link>) => address.replace(linkPatch(patch)),
    [address],
  );
  return [link, change];
}
