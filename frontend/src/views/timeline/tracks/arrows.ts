/** Which arrows are drawn: those of the selection, or bundles of all in view; the critical path. */
import { useMemo } from "react";
import type { Arrow, FlowAnswer, JoinedArrow, JoinedEnd, PathArrow } from "../../../api/types.gen";
import { plural, time } from "../../../base/text/format";
import { useValues } from "../../../state/host/environment";
import { NOBODY, usePart, useParts } from "../../../state/parts";
import { ArrowKind, type TimelineArrow } from "../../../timeline/contract";
import { PATH_SHOWN } from "../ruler/path_band";
import { type ArrowChoice, formatNames, type Link, type Range } from "../state/address";
import type { Selection } from "../state/context";
import { placedOf } from "../state/selection";
import type { Source } from "../state/sources";
import { useList } from "../state/sources";

const JOINED_LABELS_MAX = 4;
/** Which kinds are bundled; "" = all. Other choices bundle nothing. */
const BUNDLED: Partial<Readonly<Record<ArrowChoice, string>>> = {
  launches: String(ArrowKind.launch),
  backward: String(ArrowKind.backward),
  dependencies: String(ArrowKind.dependency),
  view: "",
};
/** Px of the canvas for one column of the question: coarser columns make fewer, thicker bundles. */
const PX_PER_COLUMN = 2;
const CHAIN_HOPS = 8;
const LABELS_MAX = 3;
/** Of one kind between two tracks; more of them are bundled in order of time. */
const FAN_MAX = 12;

/** `backward, 6.3 ms later`; `6 kernels, 29.9 ms later`. */
function labelOf({ kind, source, target, count }: Arrow): string {
  const delay = target.ts - (source.ts + source.dur);
  const later = delay >= 0 ? `${time(delay)} later` : "while it runs";
  if (kind === ArrowKind.dependency) {
    return `${count === 1 ? "waits for it" : `${plural(count, "node")} wait`}, ${later}`;
  }
  const what = kind === ArrowKind.launch ? plural(count, "kernel") : "backward";
  return `${kind === ArrowKind.launch && count === 1 ? "kernel" : what}, ${later}`;
}

/** Labels only where there is room for them: at the first of each kind and direction. */
function labelled(arrows: readonly Arrow[], selected: number | null): readonly string[] {
  const seen = new Set<string>();
  return arrows.map((arrow) => {
    const direction = `${arrow.kind} ${arrow.source.slice === selected}`;
    const hasRoom = selected !== null && !seen.has(direction) && seen.size < LABELS_MAX;
    seen.add(direction);
    if (!hasRoom) {
      return "";
    }
    const alike = arrows.filter((other) => other.kind === arrow.kind);
    const isFan = arrow.source.slice === selected && alike.length > 1;
    const count = isFan ? alike.reduce((sum, other) => sum + other.count, 0) : arrow.count;
    return labelOf({ ...arrow, count });
  });
}

/** A module may launch thousands of kernels: their arrows become a dozen, each with its count. */
export function bundled(arrows: readonly Arrow[]): readonly Arrow[] {
  const fans = new Map<string, Arrow[]>();
  for (const arrow of arrows) {
    const fan = `${arrow.kind} ${arrow.source.track} ${arrow.target.track}`;
    fans.set(fan, [...(fans.get(fan) ?? []), arrow]);
  }
  return [...fans.values()].flatMap((fan) => {
    const size = Math.ceil(fan.length / FAN_MAX);
    const sorted = size > 1 ? [...fan].sort((a, b) => a.source.ts - b.source.ts) : fan;
    return sorted.flatMap((arrow, place) => {
      const bundle = sorted.slice(place, place + size);
      const count = bundle.reduce((sum, other) => sum + other.count, 0);
      return place % size === 0 ? [{ ...arrow, count }] : [];
    });
  });
}

export function drawnArrows(
  arrows: readonly Arrow[],
  source: Source,
  selected: number | null,
): readonly TimelineArrow[] {
  const labels = labelled(arrows, selected);
  return arrows.map((arrow, place) => ({
    from: placedOf(arrow.source, source),
    to: placedOf(arrow.target, source),
    kind: arrow.kind,
    count: arrow.count,
    label: labels[place] ?? "",
  }));
}

/** `all_reduce, rank 2 last by 3.10 ms`: at one arrow of each collective, while they are few. */
function joinedLabels(arrows: readonly JoinedArrow[]): readonly string[] {
  const collectives = new Set(arrows.map(collectiveOf));
  const hasRoom = collectives.size <= JOINED_LABELS_MAX;
  return arrows.map((arrow) => {
    if (!(hasRoom && collectives.delete(collectiveOf(arrow)))) {
      return "";
    }
    const { operation, last, skew_ns: skew } = arrow;
    const late = last === "" ? "" : `, ${last} last`;
    return `${operation}${late}${late === "" || skew === null ? "" : ` by ${time(skew)}`}`;
  });
}

const collectiveOf = ({ start_source: source, start }: JoinedArrow) => `${source} ${start.slice}`;

/** From the start of the slice that lets the others go on to the end of each of them. */
export function joinedArrows(
  arrows: readonly JoinedArrow[],
  sources: readonly Source[],
): readonly TimelineArrow[] {
  const labels = joinedLabels(arrows);
  return arrows.flatMap((arrow, place) => {
    const [from, to] = [sources[arrow.start_source], sources[arrow.end_source]];
    if (from === undefined || to === undefined) {
      return [];
    }
    const begin = arrow.start.ts + from.offset;
    const end = arrow.end.ts + arrow.end.dur + to.offset;
    return [
      {
        from: pointOf(arrow.start, from, begin),
        to: pointOf(arrow.end, to, end),
        kind: ArrowKind.joined,
        count: 1,
        label: labels[place] ?? "",
      },
    ];
  });
}

/** One instant of a slice. */
const pointOf = ({ slice, track, lane }: JoinedEnd, { source }: Source, at: number) => ({
  key: { source, slice },
  track,
  lane,
  start: at,
  end: at,
});

/** Collectives of the shown workers, joined; of one worker there is nothing to join. */
function useJoined(
  { layout, arrows }: Link,
  sources: readonly Source[],
  view: Range | null,
): ArrowsShown {
  const [first, ...others] = sources;
  const isWanted = others.length > 0 && view !== null && arrows !== "none";
  const { data } = usePart(
    "distributed/joined",
    first ?? NOBODY,
    isWanted
      ? {
          workers: formatNames(others.map(({ worker }) => worker)),
          offsets: others.map(({ offset }) => Math.round(offset)).join(","),
          start_ns: Math.round(view.start),
          end_ns: Math.max(Math.round(view.end), Math.round(view.start) + 1),
          layout,
        }
      : null,
    true,
  );
  return useMemo(
    () =>
      data === undefined || !isWanted
        ? NONE
        : {
            arrows: joinedArrows(data.arrows, sources),
            leftOut: data.count - data.joined,
          },
    [data, sources, isWanted],
  );
}

/** At the instant of each handover, with what the part before it can gain. */
export function pathArrows(arrows: readonly PathArrow[], source: Source): readonly TimelineArrow[] {
  return arrows.map((arrow) => ({
    from: pointOf(arrow.source, source, arrow.leave_ns + source.offset),
    to: pointOf(arrow.target, source, arrow.arrive_ns + source.offset),
    kind: ArrowKind.path,
    count: 1,
    label: [
      arrow.label,
      arrow.slack_ns < 0 ? "" : `slack ${time(arrow.slack_ns)}`,
      arrow.inferred ? "inferred" : "",
    ]
      .filter((words) => words !== "")
      .join(", "),
  }));
}

/** The critical path of the view, while its band is shown. */
function usePathArrows(
  { layout }: Link,
  source: Source | undefined,
  view: Range | null,
): ArrowsShown {
  const isWanted = useValues()[PATH_SHOWN] === "1" && view !== null && source !== undefined;
  const { data } = usePart(
    "timeline/path_arrows",
    source ?? NOBODY,
    isWanted
      ? {
          start_ns: Math.floor(view.start - source.offset),
          end_ns: Math.ceil(view.end - source.offset) + 1,
          layout,
        }
      : null,
    true,
  );
  return useMemo(
    () =>
      data === undefined || source === undefined || !isWanted
        ? NONE
        : { arrows: pathArrows(data.arrows, source), leftOut: data.count - data.arrows.length },
    [data, source, isWanted],
  );
}

/** What is drawn, and how many arrows the server left out because no screen shows so many. */
export interface ArrowsShown {
  readonly arrows: readonly TimelineArrow[];
  readonly leftOut: number;
}

const NONE: ArrowsShown = { arrows: [], leftOut: 0 };

const leftOutOf = ({ arrows, count }: FlowAnswer): number =>
  Math.max(0, count - arrows.reduce((sum, arrow) => sum + arrow.count, 0));

/** Arrows of the selection; `hops` beyond one follow them further. */
function useSelectedArrows({ arrows, layout }: Link, selection: Selection | null) {
  const isWanted = selection !== null && (arrows === "selected" || arrows === "chain");
  const asked = selection?.source ?? NOBODY;
  const hops = arrows === "chain" ? CHAIN_HOPS : 1;
  const { data } = usePart(
    "timeline/flows",
    asked,
    isWanted ? { slice: selection.key.slice, hops, layout } : null,
  );
  const source = selection?.source;
  const slice = selection?.key.slice ?? null;
  return useMemo(
    () =>
      data === undefined || source === undefined
        ? NONE
        : {
            arrows: drawnArrows(bundled(data.arrows), source, slice),
            leftOut: leftOutOf(data),
          },
    [data, source, slice],
  );
}

/** Arrows of the view, bundled. `view` null: not wanted. */
function useBundles(
  { layout, arrows }: Link,
  sources: readonly Source[],
  view: Range | null,
  width: number,
) {
  const kinds = BUNDLED[arrows];

  const results = useParts(
    "timeline/bundles",
    view === null || kinds === undefined
      ? []
      : sources.map((source) => ({
          asked: source,
          query: {
            start_ns: Math.round(view.start - source.offset),
            end_ns: Math.round(view.end - source.offset),
            columns: Math.min(4096, Math.max(16, Math.round(width / PX_PER_COLUMN))),
            kinds,
            layout,
          },
        })),
  );
  const answers = useList(results.map((result) => result.data));
  return useMemo(
    () => ({
      arrows: sources.flatMap((source, place) =>
        drawnArrows(answers[place]?.arrows ?? [], source, null),
      ),
      leftOut: answers.reduce(
        (sum, answer) => sum + (answer === undefined ? 0 : leftOutOf(answer)),
        0,
      ),
    }),
    [sources, answers],
  );
}

export function useArrows(
  link: Link,
  sources: readonly Source[],
  selection: Selection | null,
  restedView: Range | null,
  width: number,
): ArrowsShown {
  const selected = useSelectedArrows(link, selection);
  const bundles = useBundles(link, sources, restedView, width);
  const joined = useJoined(link, sources, restedView);
  const path = usePathArrows(link, sources[0], restedView);
  const own = BUNDLED[link.arrows] === undefined ? selected : bundles;
  return useMemo(() => {
    const parts = [joined, path, own].filter(({ arrows }) => arrows.length > 0);
    return {
      arrows: parts.flatMap(({ arrows }) => arrows),
      leftOut: own.leftOut + joined.leftOut + path.leftOut,
    };
  }, [own, joined, path]);
}
