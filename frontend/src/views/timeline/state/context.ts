/** What the parts of the Trace view share: what is shown, what moves, and what can be done. */
import { createContext, useContext } from "react";
import type { PartQueries, SliceDetails, SliceRef } from "../../../api/types.gen";
import type { Paint } from "../../../components/charts/live_canvas";
import type { Cell } from "../../../state/cell";
import type {
  Area,
  Camera,
  Hit,
  Marker,
  PlacedRow,
  SliceKey,
  Timeline,
  TimelinePalette,
} from "../../../timeline/contract";
import type { RowInfo, RowModel } from "../tracks/rows";
import type { Link, LinkChange, PanelTab, Range } from "./address";
import type { Arrangement, ChosenMode } from "./arrangement";
import type { SearchState } from "./search";
import type { Clocks, Source } from "./sources";

/** What the canvas shows right now; renewed each time it moves. */
export interface Frame {
  readonly camera: Camera;
  readonly rows: readonly PlacedRow[];
  /** CSS px of the canvas. */
  readonly width: number;
  readonly height: number;
}

export const NO_FRAME: Frame = {
  camera: { start: 0, nsPerPx: 1, scrollY: 0 },
  rows: [],
  width: 0,
  height: 0,
};

export const viewOf = ({ camera, width }: Frame): Range => ({
  start: camera.start,
  end: camera.start + Math.max(1, width) * camera.nsPerPx,
});

/** The view once it rests: questions to the server wait for that. */
export interface Rested {
  readonly view: Range;
  readonly width: number;
}

/** Calls back once the canvas has rested for so long; returns how to stop. */
export function onRest(frame: Cell<Frame>, ms: number, act: (now: Frame) => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const settle = () => {
    if (frame.get().width > 0) {
      act(frame.get());
    }
  };
  const stop = frame.subscribe(() => {
    clearTimeout(timer);
    timer = setTimeout(settle, ms);
  });
  return () => {
    clearTimeout(timer);
    stop();
  };
}

/** Where the pointer is, and above what. */
export interface Hovered {
  readonly hit: Hit | null;
  readonly x: number;
  readonly y: number;
}

export interface Selection {
  readonly key: SliceKey;
  readonly source: Source;
  readonly details: SliceDetails | undefined;
  readonly problem: Error | null;
  readonly again: () => unknown;
  /** The row that draws it; null while it is not known. */
  readonly row: RowInfo | null;
}

export interface HitPosition {
  /** The search whose hit it is. */
  readonly find: string;
  readonly key: SliceKey;
  /** 1-based. */
  readonly position: number;
}

/** What changes too often for React state. */
export interface Moving {
  readonly frame: Cell<Frame>;
  readonly hover: Cell<Hovered | null>;
  /** Whether the camera stands where the address wants it: from then on it may be moved. */
  readonly begun: Cell<boolean>;
  /** An area while it is dragged. */
  readonly draft: Cell<Area | null>;
  readonly measured: Cell<Area | null>;
  /** Tiles that are on their way. */
  readonly pending: Cell<number>;
  /** Arrows of the view that are not drawn, because they are too many. */
  readonly arrowsLeftOut: Cell<number>;
  /** Marked for a moment, with M. */
  readonly mark: Cell<Marker | null>;
  /** For the live region. */
  readonly said: Cell<string>;
  /** A short message that disappears by itself. */
  readonly notice: Cell<string>;
  /** Draws the minimap as it is now, for pictures. */
  readonly paintMinimap: Cell<Paint>;
  /** Which of all hits was gone to last. */
  readonly position: Cell<HitPosition | null>;
  /** Row whose label has the focus or the pointer; "" = none. */
  readonly row: Cell<string>;
}

/** What the user can do, by key, by pointer or from the palette. */
export interface Actions {
  readonly select: (key: SliceKey | null) => void;
  /** Selects a slice and goes where it can be seen. */
  readonly goTo: (source: Source, slice: SliceRef) => void;
  /** The same, of a slice known by its number alone. */
  readonly goToId: (source: Source, slice: number) => void;
  readonly show: (range: Range) => void;
  readonly showWhole: () => void;
  /** Scrolls to the selection; when it can be seen already, fits it. */
  readonly reveal: () => void;
  readonly fitSelection: () => void;
  readonly move: (by: PartQueries["timeline/move"]["by"], isForward: boolean) => void;
  readonly hit: (isForward: boolean) => void;
  readonly rowStep: (isForward: boolean) => void;
  readonly find: (text: string, match: "text" | "exact") => void;
  readonly setArea: (range: Range | null, rows?: readonly string[]) => void;
  readonly areaOfSelection: () => void;
  readonly openTab: (tab: PanelTab | null) => void;
  readonly arrange: (next: Arrangement) => void;
  readonly pin: (row: RowInfo) => void;
  readonly hide: (row: RowInfo) => void;
  readonly collapse: (row: RowInfo, isCollapsed: boolean) => void;
  readonly setRowMode: (row: RowInfo, mode: ChosenMode | null) => void;
  readonly moveRow: (row: RowInfo, by: number) => void;
  readonly focusLane: (row: RowInfo, lane: number, slice: number) => void;
  readonly unfocus: (row: RowInfo) => void;
  /** Nodes of replayed graphs by what they do, or each on its stream. */
  readonly foldStreams: (isFolded: boolean) => void;
}

export interface TimelineContext {
  /** The shown recording first. */
  readonly sources: readonly [Source, ...Source[]];
  /** From the first start to the last end. */
  readonly whole: Range;
  readonly alignmentNote: string;
  /** What is known of the clocks of the other workers. */
  readonly clocks: Clocks;
  readonly link: Link;
  readonly change: (patch: LinkChange) => void;
  readonly model: RowModel;
  readonly palette: TimelinePalette;
  readonly engine: Timeline | null;
  readonly moving: Moving;
  readonly selection: Selection | null;
  readonly search: SearchState;
  readonly actions: Actions;
  /** The details have no room of their own: they are a tab of the panel below. */
  readonly isNarrow: boolean;
}

export const CurrentTimeline = createContext<TimelineContext | null>(null);

export function useTimelineContext(): TimelineContext {
  const timeline = useContext(CurrentTimeline);
  if (timeline === null) {
    throw new Error("rendered outside of the Trace view");
  }
  return timeline;
}
