/** The recordings in one timeline: the chosen worker, and others of its run on the same axis. */
import type { TraceKey } from "../../api/routes";
import type { TimelineManifest } from "../../api/types.gen";
import type { Alignment, Range } from "./link";

/** One recording, placed on the axis of the view. */
export interface Source {
  /** 0 is the chosen worker. */
  readonly source: number;
  /** Name of the worker. */
  readonly worker: string;
  readonly key: TraceKey;
  readonly digest: string;
  readonly manifest: TimelineManifest;
  /** ns to add to the times of this recording. */
  readonly offset: number;
}

export interface Recording {
  readonly worker: string;
  readonly key: TraceKey;
  readonly digest: string;
  readonly manifest: TimelineManifest;
}

export interface Aligned {
  /** The shown recording first. */
  readonly sources: readonly [Source, ...Source[]];
  /** What the offsets rest on; differs from the wish where that is not possible. */
  readonly alignment: Alignment;
  /** One sentence where the picture needs it; "" else. */
  readonly note: string;
}

/** Wall clock of 0 as a number of ns; null where the recording does not tell. */
function clockOf({ base_ns }: TimelineManifest): bigint | null {
  try {
    const base = BigInt(base_ns);
    return base > 0n ? base : null;
  } catch {
    return null;
  }
}

/** Start of the first step that both have, by name. */
function commonStep(a: TimelineManifest, b: TimelineManifest): readonly [number, number] | null {
  const starts = new Map(b.steps.map((step) => [step.name, step.ts]));
  for (const step of a.steps) {
    const other = starts.get(step.name);
    if (other !== undefined) {
      return [step.ts, other];
    }
  }
  return null;
}

function offsetBy(
  alignment: Alignment,
  first: TimelineManifest,
  other: TimelineManifest,
): number | null {
  if (alignment === "start") {
    return first.start_ns - other.start_ns;
  }
  if (alignment === "step") {
    const starts = commonStep(first, other);
    return starts === null ? null : starts[0] - starts[1];
  }
  const [a, b] = [clockOf(first), clockOf(other)];
  return a === null || b === null ? null : Number(b - a);
}

const overlaps = (a: TimelineManifest, b: TimelineManifest, offset: number) =>
  b.start_ns + offset < a.end_ns && b.end_ns + offset > a.start_ns;

/** Whether every other recording can be placed so; by the clock, they must also meet. */
function offsetsBy(
  alignment: Alignment,
  first: TimelineManifest,
  others: readonly TimelineManifest[],
): readonly number[] | null {
  const offsets = others.map((other) => offsetBy(alignment, first, other));
  const isSound = others.every((other, place) => {
    const offset = offsets[place];
    return typeof offset === "number" && (alignment !== "clock" || overlaps(first, other, offset));
  });
  return isSound ? offsets.map((offset) => offset ?? 0) : null;
}

const NOTES: Readonly<Record<Alignment, string>> = {
  clock: "Aligned by wall clock.",
  start: "Aligned by their first event: distances between workers mean nothing.",
  step: "Aligned by the start of their first common step.",
};

const UNSOUND: Readonly<Record<Alignment, string>> = {
  clock: "The clocks of these recordings do not meet. ",
  start: "",
  step: "These recordings have no step in common. ",
};

/**
 * Places the recordings on the axis of the first one. What cannot be aligned as wished (no clock, no
 * common step, or clocks that do not meet) is aligned by the next best, and the note says so.
 */
export function align(first: Recording, others: readonly Recording[], wish: Alignment): Aligned {
  const manifests = others.map((other) => other.manifest);
  const order = [...new Set<Alignment>([wish, "clock", "step", "start"])];
  let alignment: Alignment = "start";
  let offsets: readonly number[] = [];
  for (const candidate of order) {
    const found = offsetsBy(candidate, first.manifest, manifests);
    if (found !== null) {
      [alignment, offsets] = [candidate, found];
      break;
    }
  }
  const note = (alignment === wish ? "" : UNSOUND[wish]) + NOTES[alignment];
  const placed = others.map((other, place) => ({
    ...other,
    source: place + 1,
    offset: offsets[place] ?? 0,
  }));
  return {
    sources: [{ ...first, source: 0, offset: 0 }, ...placed],
    alignment,
    note: others.length === 0 ? "" : note,
  };
}

/** From the first start to the last end of all of them. */
export function wholeRange(sources: readonly Source[]): Range {
  const start = Math.min(...sources.map(({ manifest, offset }) => manifest.start_ns + offset));
  const end = Math.max(...sources.map(({ manifest, offset }) => manifest.end_ns + offset));
  return { start, end: Math.max(end, start + 1) };
}
