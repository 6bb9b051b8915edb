import type { QueryClient } from "@tanstack/react-query";
import type { PartQueries, SliceRef } from "../../../api/types.gen";
import { SEARCH_MAX, searched } from "../../../components/controls/search_field";
import { askPart } from "../../../state/parts";
import type { Marker, SliceKey } from "../../../timeline/contract";
import { isWork, type RowInfo, rowOfTrack, siblingsOf, trackList } from "../tracks/rows";
import type { Note, Range } from "./address";
import {
  type Arrangement,
  withCollapsed,
  withFocus,
  withHidden,
  withMode,
  withMoved,
  withPinned,
} from "./arrangement";
import { type Actions, type TimelineContext, viewOf } from "./context";
import { fitted, isInside, revealed, withMargin } from "./range";
import type { Source } from "./sources";

/** Actions of the Trace view: what each key, pointer and command does. */

/** A lane to scroll to once its row is drawn. */
export interface Target {
  readonly source: number;
  readonly track: number;
  readonly lane: number;
}

/** The timeline as it is when an action runs, and what only actions need. */
export interface ActionDeps {
  readonly timeline: () => TimelineContext;
  readonly client: QueryClient;
  readonly setTarget: (target: Target) => void;
  /** Shows something in the address's history: back returns from it. */
  readonly fail: (error: unknown) => void;
}

const spanOf = ({ ts, dur }: SliceRef, { offset }: Source): Range => ({
  start: ts + offset,
  end: ts + dur + offset,
});

/** The arrangement in which a row is drawn, with a lane of it in sight. */
function uncovered(from: Arrangement, row: RowInfo, lane: number): Arrangement {
  let next = from;
  if (row.isHidden) {
    next = withHidden(next, [row.id], false);
  }
  if (next.hidden.has(row.group)) {
    next = withHidden(next, [row.group], false);
  }
  if (!row.isPinned && next.collapsed.has(row.group)) {
    next = withCollapsed(next, row.group, false);
  }
  if (lane < row.firstLane) {
    next = withFocus(next, row.id, null);
  }
  return lane >= row.endLane ? withMode(next, row.id, "deep") : next;
}

export function makeActions({ timeline, client, setTarget, fail }: ActionDeps): Actions {
  const arrange = (arrangement: Arrangement) => timeline().change({ arrangement });

  const show = ({ start, end }: Range) => timeline().engine?.show(start, end);

  const bring = (source: Source, slice: SliceRef) => {
    const { model, link, moving } = timeline();
    const row = rowOfTrack(model, source.source, slice.track);
    if (row !== null) {
      const next = uncovered(link.arrangement, row, slice.lane);
      if (next !== link.arrangement) {
        arrange(next);
      }
      setTarget({ source: source.source, track: slice.track, lane: slice.lane });
    }
    const frame = moving.frame.get();
    const range = revealed(spanOf(slice, source), viewOf(frame), frame.width);
    if (range !== null) {
      show(range);
    }
  };

  const select = (key: SliceKey | null) => timeline().change({ select: key });

  // What was gone to last: known before the server has told of it in full.
  let last: { source: Source; slice: SliceRef } | null = null;

  const goTo = (source: Source, slice: SliceRef) => {
    last = { source, slice };
    select({ source: source.source, slice: slice.slice });
    bring(source, slice);
  };

  const selected = (): { source: Source; slice: SliceRef } | null => {
    const { selection, link } = timeline();
    if (selection?.details !== undefined) {
      return { source: selection.source, slice: selection.details.slice };
    }
    const isLast =
      last?.slice.slice === link.select?.slice && last?.source.source === link.select?.source;
    return isLast ? last : null;
  };

  /** The first slice in sight, to begin with by keyboard; of one row, or of the first that has one. */
  const pickFirst = async (only?: RowInfo) => {
    const { model, moving, link } = timeline();
    const view = viewOf(moving.frame.get());
    const drawn = moving.frame.get().rows.map((placed) => model.infos.get(placed.row.key));
    const rows = only === undefined ? drawn : [only];
    for (const row of rows) {
      if (row?.track !== null && row !== undefined) {
        const { source, trackIndex } = row;
        const found = await askPart(client, "timeline/rows", source, {
          start_ns: Math.round(view.start - source.offset),
          end_ns: Math.round(view.end - source.offset),
          tracks: trackList([trackIndex], source.manifest.tracks.length),
          limit: 1,
          layout: link.layout,
        });
        const [first] = found.rows;
        if (first !== undefined) {
          select({ source: source.source, slice: first.slice });
          return true;
        }
      }
    }
    return false;
  };

  const move: Actions["move"] = (by, isForward) => {
    const { selection, link, moving } = timeline();
    if (selection === null) {
      pickFirst().catch(fail);
      return;
    }
    const direction = isForward ? "next" : "previous";
    const { source, key } = selection;
    askPart(client, "timeline/move", source, {
      slice: key.slice,
      by,
      direction,
      layout: link.layout,
    }).then(({ to }) => {
      if (to === null) {
        moving.said.set(NOTHING_THERE[by]);
      } else {
        goTo(source, to);
      }
    }, fail);
  };

  const hit: Actions["hit"] = (isForward) => {
    const { link, sources, moving } = timeline();
    if (link.find === "") {
      return;
    }
    const view = viewOf(moving.frame.get());
    const here = selected();
    const at = here === null ? view.start : spanOf(here.slice, here.source).start;
    const direction = isForward ? "next" : "previous";
    const questions = sources.map(async (source) => {
      const isHere = here?.source.source === source.source;
      const { to, position } = await askPart(client, "timeline/hit", source, {
        text: link.find,
        mode: link.match,
        slice: isHere ? here.slice.slice : -1,
        ts: Math.round(at - source.offset),
        direction,
        layout: link.layout,
      });
      return to === null ? [] : [{ source, to, position }];
    });
    Promise.all(questions).then((answers) => {
      const found = answers.flat();
      const distance = ({ source, to }: { source: Source; to: SliceRef }) =>
        (spanOf(to, source).start - at) * (isForward ? 1 : -1);
      found.sort((a, b) => distance(a) - distance(b));
      const [nearest] = found;
      if (nearest === undefined) {
        moving.said.set(isForward ? "No hit after this one" : "No hit before this one");
      } else {
        const { source, to, position } = nearest;
        const key = { source: source.source, slice: to.slice };
        moving.position.set(position > 0 ? { find: link.find, key, position } : null);
        goTo(source, to);
      }
    }, fail);
  };

  return {
    select,
    goTo,
    goToId(source, slice) {
      const { layout } = timeline().link;
      select({ source: source.source, slice });
      askPart(client, "timeline/slice", source, { slice, layout }).then(
        (details) => bring(source, details.slice),
        fail,
      );
    },
    show,
    hit,
    move,
    arrange,
    showWhole: () => show(withMargin(timeline().whole, 0.01)),
    reveal() {
      const here = selected();
      if (here === null) {
        return;
      }
      const frame = timeline().moving.frame.get();
      const span = spanOf(here.slice, here.source);
      const isSeen = isInside(span, viewOf(frame));
      bring(here.source, here.slice);
      if (isSeen) {
        show(fitted(span));
      }
    },
    fitSelection() {
      const here = selected();
      const { link } = timeline();
      if (here !== null) {
        bring(here.source, here.slice);
        show(fitted(spanOf(here.slice, here.source)));
      } else if (link.area !== null) {
        show(withMargin(link.area));
      }
    },
    rowStep(isForward) {
      const { model, selection } = timeline();
      const rows = [...model.pinned, ...model.rows].flatMap((row) => {
        const info = model.infos.get(row.key);
        return info?.type === "track" ? [info] : [];
      });
      const at = rows.findIndex((row) => row.key === selection?.row?.key);
      const rest = isForward ? rows.slice(at + 1) : rows.slice(0, Math.max(0, at)).reverse();
      const step = async () => {
        for (const row of rest) {
          if (await pickFirst(row)) {
            setTarget({ source: row.source.source, track: row.trackIndex, lane: 0 });
            return;
          }
        }
      };
      step().catch(fail);
    },
    find(text, match) {
      // No name is exactly the first part of a longer one.
      const isCut = text.length > SEARCH_MAX;
      timeline().change({ find: searched(text), match: isCut ? "text" : match });
    },
    setArea(range, rows = []) {
      const { change, model } = timeline();
      const ids = rows.flatMap((key) => model.infos.get(key)?.id ?? []);
      change({ area: range === null ? null : { ...range, rows: ids } });
    },
    areaOfSelection() {
      const here = selected();
      const { change, link } = timeline();
      if (here !== null) {
        change({
          area: { ...spanOf(here.slice, here.source), rows: [] },
          tab: link.tab ?? "summary",
        });
      }
    },
    openTab: (tab) => timeline().change({ tab }),
    pin: (row) => arrange(withPinned(timeline().link.arrangement, row.id, !row.isPinned)),
    hide: (row) => arrange(withHidden(timeline().link.arrangement, [row.id], !row.isHidden)),
    collapse(row, isCollapsed) {
      const { arrangement } = timeline().link;
      if (row.type === "heading") {
        arrange(withCollapsed(arrangement, row.id, isCollapsed));
      } else if (row.type === "track") {
        arrange(withMode(arrangement, row.id, isCollapsed ? "heat" : "full"));
      }
    },
    setRowMode: (row, mode) => arrange(withMode(timeline().link.arrangement, row.id, mode)),
    moveRow(row, by) {
      const { model, link } = timeline();
      arrange(withMoved(link.arrangement, siblingsOf(model, row), row.id, by));
    },
    focusLane: (row, lane, slice) =>
      arrange(withFocus(timeline().link.arrangement, row.id, { lane, slice })),
    unfocus: (row) => arrange(withFocus(timeline().link.arrangement, row.id, null)),
    foldStreams(isFolded) {
      const { change, link, model, moving } = timeline();
      const streams = isFolded ? "folded" : "recorded";
      // An area on tracks that will be no more would be one on none: it is on all of them then.
      const ids = new Set(link.area?.rows);
      const isOnDevice = [...model.infos.values()].some(
        ({ id, track }) => ids.has(id) && track !== null && isWork(track),
      );
      if (link.area !== null && isOnDevice) {
        change({ streams, area: { ...link.area, rows: [] } });
        moving.notice.set("The area is on all tracks now");
      } else {
        change({ streams });
      }
    },
  };
}

const NOTHING_THERE: Readonly<Record<PartQueries["timeline/move"]["by"], string>> = {
  lane: "Nothing more in this lane",
  name: "No other slice of this name there",
  parent: "Nothing around it",
  child: "Nothing inside it",
  flow: "No arrow leads further",
};

/** Marks and notes: of the selection, else of the area, else of the middle of the view. */

interface Spot {
  readonly at: number;
  readonly end: number | null;
  readonly text: string;
}

function spotOf({ selection, link, moving }: TimelineContext): Spot {
  const { details, source } = selection ?? {};
  if (details !== undefined && source !== undefined) {
    const at = details.slice.ts + source.offset;
    return { at, end: at + details.slice.dur, text: details.slice.name.slice(0, 60) };
  }
  if (link.area !== null) {
    return { at: link.area.start, end: link.area.end, text: "" };
  }
  const { start, end } = viewOf(moving.frame.get());
  return { at: (start + end) / 2, end: null, text: "" };
}

export const markOf = (timeline: TimelineContext): Marker => ({ id: "mark", ...spotOf(timeline) });

export const keptNote = (timeline: TimelineContext): Note => ({
  id: `note-${timeline.link.notes.length}`,
  ...spotOf(timeline),
});
