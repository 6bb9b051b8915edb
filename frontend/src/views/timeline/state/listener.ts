/** What the user does on the canvas, for the rest of the view. */
import { KIND } from "../../../base/style/kind_hues";
import type { Hit, PlacedSlice, TimelineListener } from "../../../timeline/contract";
import type { RowInfo } from "../tracks/rows";
import { sameSlice } from "./address";
import type { TimelineContext } from "./context";
import { fitted } from "./range";

type SliceHit = Exclude<Hit, { type: "counter" }>;

/** What is under the pointer, as something that can be drawn as selected at once. */
export function placedHit(hit: SliceHit, row: RowInfo | undefined): PlacedSlice | null {
  return row === undefined || hit.type === "bucket"
    ? null
    : { key: hit.key, track: row.trackIndex, lane: hit.lane, start: hit.start, end: hit.end };
}

/** A double press on a Python frame shows its subtree alone. */
function isSubtree(hit: SliceHit, row: RowInfo | undefined): row is RowInfo {
  const isFrame = hit.kind === KIND.python || hit.kind === KIND.module;
  return isFrame && row?.track?.kind === "python" && hit.lane > row.firstLane;
}

interface Handlers {
  readonly timeline: () => TimelineContext;
  /** Draws the selection before the server has told of it. */
  readonly onPlaced: (slice: PlacedSlice | null) => void;
  readonly onProblem: (message: string) => void;
}

export function listenerOf({ timeline, onPlaced, onProblem }: Handlers): TimelineListener {
  const choose = (hit: SliceHit, isDouble: boolean) => {
    const { actions, model } = timeline();
    const row = model.infos.get(hit.row);
    onPlaced(placedHit(hit, row));
    actions.select(hit.key);
    if (isDouble) {
      actions.show(fitted({ start: hit.start, end: hit.end }));
      if (hit.type === "slice" && isSubtree(hit, row)) {
        actions.focusLane(row, hit.lane, hit.key.slice);
      }
    }
  };
  return {
    onCamera(camera, rows, { width, height }) {
      timeline().moving.frame.set({ camera, rows, width, height });
    },
    onHover(hit, x, y) {
      // The pointer has left: it stands nowhere, above nothing.
      const isGone = hit === null && x === 0 && y === 0;
      timeline().moving.hover.set(isGone ? null : { hit, x, y });
    },
    onSelect(hit, isDouble) {
      if (hit === null) {
        onPlaced(null);
        timeline().actions.select(null);
      } else if (hit.type !== "counter") {
        choose(hit, isDouble);
      }
    },
    onArea(area, isDone) {
      const { moving, actions, link, change } = timeline();
      if (!isDone) {
        moving.draft.set(area);
        return;
      }
      moving.draft.set(null);
      actions.setArea(area, area?.rows);
      if (area !== null && link.tab === null) {
        change({ tab: "summary" });
      }
    },
    onMeasure(area) {
      timeline().moving.measured.set(area);
    },
    onArrow({ from, to }) {
      const { selection, actions, sources } = timeline();
      const end = sameSlice(selection?.key, from.key) ? to : from;
      const source = sources.find((known) => known.source === end.key.source);
      onPlaced(end);
      if (source === undefined) {
        return;
      }
      const { key, track, lane, start } = end;
      const ts = start - source.offset;
      actions.goTo(source, {
        slice: key.slice,
        name: "",
        kind: 0,
        ts,
        dur: end.end - start,
        track,
        lane,
      });
    },
    onLoading(pending) {
      timeline().moving.pending.set(pending);
    },
    onProblem,
  };
}
