/** Which rows the timeline has, top to bottom: groups, tracks and counters, as the user arranged them. */
import type { TimelineCounter, TimelineTrack } from "../../../api/types.gen";
import { toRanges } from "../../../base/steps";
import { capital } from "../../../base/text/shown_name";
import type { RowMode, TimelineRow } from "../../../timeline/contract";
import { type Arrangement, type ChosenMode, idOf, inOrder } from "../state/arrangement";
import type { Source } from "../state/sources";

export const HEADING_HEIGHT = 20;
export const COUNTER_HEIGHT = 36;

/** Lanes at full height by default. The main thread of a process gets the most of them. */
const MAIN_LANES = 8;
const OTHER_LANES = 5;
const STRIP_LANES = 4;
/** Lanes below those, small; what is deeper still opens on demand. Modules lie deep in frames. */
const SMALL_LANES = 4;
const SMALL_FRAME_LANES = 16;

/** What the gutter writes beside a row, and what can be done with it. */
export interface RowInfo {
  /** Key of the row, the same in every layout. */
  readonly key: string;
  readonly id: string;
  readonly type: "heading" | "track" | "counter";
  readonly source: Source;
  readonly label: string;
  readonly detail: string;
  /** Id of the heading above; "" for headings. */
  readonly group: string;
  readonly track: TimelineTrack | null;
  /** Index of the track in the manifest, for requests; −1. */
  readonly trackIndex: number;
  readonly counter: TimelineCounter | null;
  readonly mode: RowMode;
  /** The user's own choice of a mode. */
  readonly chosen: ChosenMode | null;
  /** Lanes below those at full height. */
  readonly deeper: number;
  readonly firstLane: number;
  /** Lanes from here on are not drawn. */
  readonly endLane: number;
  readonly isPinned: boolean;
  readonly isHidden: boolean;
  readonly isCollapsed: boolean;
  /** ns in which something of it runs; 0 for counters. */
  readonly busyNs: number;
}

export interface RowModel {
  readonly pinned: readonly TimelineRow[];
  readonly rows: readonly TimelineRow[];
  /** All rows by key, hidden ones too, in their order. */
  readonly infos: ReadonlyMap<string, RowInfo>;
  /** Tracks and counters that are drawn, of all there are. */
  readonly shown: number;
  readonly total: number;
}

/** "GPU 0 utilization" beneath "GPU 0 · Tesla V100" is "Utilization". */
export function shortLabel(label: string, heading: string, isName = false): string {
  const [prefix = ""] = heading.split(" · ");
  const rest = label.startsWith(`${prefix} `) ? label.slice(prefix.length + 1) : "";
  return rest === "" ? label : isName ? rest : capital(rest);
}

/** Keys of the first source are those of its manifest; others are told apart by their worker. */
const keyIn = (source: Source, key: string): string =>
  source.source === 0 ? key : `${source.worker}\n${key}`;

interface Shape {
  readonly mode: RowMode;
  readonly fullLanes: number;
}

/** What a track looks like when nobody asked: deep ones are cut, side threads' frames are a strip. */
function shapeByDefault(track: TimelineTrack, isMain: boolean): Shape {
  if (track.kind === "python" && !isMain && track.lanes > STRIP_LANES) {
    return { mode: "heat", fullLanes: 0 };
  }
  return { mode: "full", fullLanes: Math.min(track.lanes, isMain ? MAIN_LANES : OTHER_LANES) };
}

function shapeOf(track: TimelineTrack, chosen: ChosenMode | null, isMain: boolean): Shape {
  if (chosen === "compact" || chosen === "heat") {
    return { mode: chosen, fullLanes: 0 };
  }
  const usual = shapeByDefault(track, isMain);
  if (chosen === "deep") {
    return { mode: "full", fullLanes: track.lanes };
  }
  return chosen === "full" ? { mode: "full", fullLanes: Math.min(track.lanes, MAIN_LANES) } : usual;
}

/**
 * The first track of each kind in each group: the server puts the main thread first. Frames of a
 * process without ops, while others have some, are those of a thread that waits.
 */
function mainOf(tracks: readonly TimelineTrack[]): ReadonlySet<number> {
  const first = new Map<string, number>();
  const withOps = new Set(
    tracks.filter(({ kind, slices }) => kind === "thread" && slices > 0).map(({ group }) => group),
  );
  tracks.forEach((track, index) => {
    const place = `${track.group} ${track.kind}`;
    const isAside = track.kind === "python" && withOps.size > 0 && !withOps.has(track.group);
    if (track.lanes > 0 && !isAside && !first.has(place)) {
      first.set(place, index);
    }
  });
  return new Set(first.values());
}

function tone({ kind }: TimelineCounter): "memory" | "utilization" | "other" {
  if (kind === "memory") {
    return "memory";
  }
  return kind === "utilization" || kind === "sm_efficiency" ? "utilization" : "other";
}

interface Entry {
  readonly info: RowInfo;
  readonly row: TimelineRow;
}

/** What a row has that is no track. */
const NO_TRACK = {
  detail: "",
  track: null,
  trackIndex: -1,
  mode: "full",
  chosen: null,
  deeper: 0,
  firstLane: 0,
  endLane: 0,
} as const;

function trackEntry(
  source: Source,
  trackIndex: number,
  track: TimelineTrack,
  isMain: boolean,
  group: string,
  arrangement: Arrangement,
): Entry {
  const key = keyIn(source, track.key);
  const id = idOf(key);
  const chosen = arrangement.modes.get(id) ?? null;
  const firstLane = Math.min(arrangement.focus.get(id)?.lane ?? 0, Math.max(0, track.lanes - 1));
  const { mode, fullLanes } = shapeOf(track, chosen, isMain);
  const depth = track.lanes - firstLane;
  const small = track.kind === "python" && isMain ? SMALL_FRAME_LANES : SMALL_LANES;
  const drawn = mode === "full" && chosen !== "deep" ? Math.min(depth, fullLanes + small) : depth;
  return {
    info: {
      key,
      id,
      type: "track",
      source,
      label: track.label,
      detail: track.detail,
      group,
      track,
      trackIndex,
      counter: null,
      mode,
      chosen,
      deeper: mode === "full" ? Math.max(0, depth - fullLanes) : 0,
      firstLane,
      endLane: firstLane + drawn,
      isPinned: arrangement.pinned.includes(id),
      isHidden: arrangement.hidden.has(id),
      isCollapsed: false,
      busyNs: track.busy_ns,
    },
    row: {
      type: "track",
      key,
      source: source.source,
      track: trackIndex,
      lanes: firstLane + drawn,
      fullLanes,
      mode,
      firstLane,
    },
  };
}

function counterEntry(
  source: Source,
  seriesIndex: number,
  counter: TimelineCounter,
  group: string,
  arrangement: Arrangement,
): Entry {
  const key = keyIn(source, counter.key);
  const id = idOf(key);
  return {
    info: {
      ...NO_TRACK,
      key,
      id,
      type: "counter",
      source,
      label: shortLabel(
        counter.label,
        source.manifest.groups[counter.group]?.label ?? "",
        // What the recorder called it stays as it is: sm__inst_executed.sum.
        counter.kind === "counter",
      ),
      group,
      counter,
      isPinned: arrangement.pinned.includes(id),
      isHidden: arrangement.hidden.has(id),
      isCollapsed: false,
      busyNs: 0,
    },
    row: {
      type: "counter",
      key,
      source: source.source,
      series: seriesIndex,
      unit: counter.unit,
      // Areas begin at zero: a clock that falls by a tenth is not one that stops.
      low: Math.min(0, counter.low),
      high: counter.high,
      tone: tone(counter),
      height: COUNTER_HEIGHT,
    },
  };
}

function headingEntry(
  source: Source,
  group: number,
  arrangement: Arrangement,
  worker: string,
): Entry {
  const { key: ownKey = `group/${group}`, label = "" } = source.manifest.groups[group] ?? {};
  const key = keyIn(source, ownKey);
  const id = idOf(key);
  const busy = source.manifest.tracks.filter((track) => track.group === group);
  return {
    info: {
      ...NO_TRACK,
      key,
      id,
      type: "heading",
      source,
      label: worker === "" ? label : `${worker} · ${label}`,
      group: "",
      counter: null,
      isPinned: false,
      isHidden: arrangement.hidden.has(id),
      isCollapsed: arrangement.collapsed.has(id),
      busyNs: Math.max(0, ...busy.map((track) => track.busy_ns)),
    },
    row: { type: "heading", key, height: HEADING_HEIGHT },
  };
}

/** Names of workers without the end that all share, from a sign between words on; "" of one alone. */
export function toldApart(names: readonly string[]): readonly string[] {
  const [first = "", ...others] = names;
  if (others.length === 0) {
    return names.map(() => "");
  }
  let shared = 0;
  for (let length = 1; length < Math.min(...names.map((name) => name.length)); length += 1) {
    const end = first.slice(-length);
    if (!others.every((name) => name.endsWith(end))) {
      break;
    }
    shared = /^[^A-Za-z0-9]/.test(end) ? length : shared;
  }
  return names.map((name) => name.slice(0, name.length - shared));
}

interface GroupEntries {
  readonly heading: Entry;
  readonly members: readonly Entry[];
}

function groupsOf(source: Source, arrangement: Arrangement, worker: string): GroupEntries[] {
  const { manifest } = source;
  const main = mainOf(manifest.tracks);
  const tracks = manifest.tracks.map((track, index) => ({ track, index }));
  const counters = manifest.counters.map((counter, index) => ({ counter, index }));
  return manifest.groups.flatMap((_, group) => {
    const heading = headingEntry(source, group, arrangement, worker);
    const members = [
      ...tracks
        .filter(({ track }) => track.group === group && track.lanes > 0)
        .map(({ track, index }) =>
          trackEntry(source, index, track, main.has(index), heading.info.id, arrangement),
        ),
      ...counters
        .filter(({ counter }) => counter.group === group && counter.samples > 0)
        .map(({ counter, index }) =>
          counterEntry(source, index, counter, heading.info.id, arrangement),
        ),
    ];
    const ordered = arranged(members, arrangement, ({ info }) => info.id);
    return members.length === 0 ? [] : [{ heading, members: ordered }];
  });
}

function arranged<T>(
  items: readonly T[],
  { order }: Arrangement,
  idOfItem: (item: T) => string,
): readonly T[] {
  const byId = new Map(items.map((item) => [idOfItem(item), item]));
  return inOrder([...byId.keys()], order).flatMap((id) => byId.get(id) ?? []);
}

/** A member is drawn beneath its heading unless hidden, collapsed with it, or pinned above all. */
function drawnMembers({ heading, members }: GroupEntries): readonly Entry[] {
  return heading.info.isHidden || heading.info.isCollapsed
    ? []
    : members.filter(({ info }) => !info.isHidden && !info.isPinned);
}

export function rowModel(sources: readonly Source[], arrangement: Arrangement): RowModel {
  const workers = toldApart(sources.map(({ worker }) => worker));
  const groups = arranged(
    sources.flatMap((source, place) => groupsOf(source, arrangement, workers[place] ?? "")),
    arrangement,
    ({ heading }) => heading.info.id,
  );
  const members = groups.flatMap((group) => group.members);
  const byId = new Map(members.map((entry) => [entry.info.id, entry]));
  const pinned = arrangement.pinned.flatMap((id) => byId.get(id) ?? []);
  const drawn = groups
    .filter(({ heading }) => !heading.info.isHidden)
    .flatMap((group) => [group.heading, ...drawnMembers(group)]);
  const all = groups.flatMap((group) => [group.heading, ...group.members]);
  return {
    pinned: pinned.map(({ row }) => row),
    rows: drawn.map(({ row }) => row),
    infos: new Map(all.map(({ info }) => [info.key, info])),
    shown: pinned.length + drawn.filter(({ info }) => info.type !== "heading").length,
    total: members.length,
  };
}

/** Whether it holds work of a device: of a stream, or of replayed graphs. */
export const isWork = ({ kind }: TimelineTrack): boolean => kind === "stream" || kind === "graph";

/** The row that draws a track of a source. */
export function rowOfTrack(model: RowModel, source: number, track: number): RowInfo | null {
  for (const info of model.infos.values()) {
    if (info.type === "track" && info.source.source === source && info.trackIndex === track) {
      return info;
    }
  }
  return null;
}

/** Ids of a row's container in their present order: to move it by one place. */
export function siblingsOf(model: RowModel, info: RowInfo): readonly string[] {
  return [...model.infos.values()]
    .filter(
      (other) =>
        other.group === info.group && (other.type === "heading") === (info.type === "heading"),
    )
    .map((other) => other.id);
}

/**
 * Indexes of tracks as requests write them: "0,2-5"; "" when it is all of them.
 *
 * An empty list has no such form: who has no tracks has nothing to ask.
 */
export function trackList(indexes: Iterable<number>, count: number): string {
  const distinct = new Set(indexes);
  return distinct.size === count ? "" : toRanges(distinct);
}
