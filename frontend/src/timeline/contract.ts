/**
 * The timeline as the rest of the page sees it (contract): one canvas, told what to show, telling
 * what the user does. It knows neither React nor addresses; who embeds it does.
 *
 * Times are ns, float64, on the axis of the view: `time of the trace + offset of its source`.
 * Several traces in one view are several sources, aligned by wall clock.
 */

/** Where tiles come from. Fetching happens in a worker; `base` is absolute. */
export interface TimelineSource {
  /** Small number, the same as in `SliceKey`. */
  readonly source: number;
  /** Absolute address of the view's parts: ".../api/view/timeline/". */
  readonly base: string;
  /** Query that names the trace: "run=…&worker=…&span=…&digest=…". */
  readonly query: string;
  readonly layout: string;
  /** ns to add to the times of this trace. */
  readonly offset: number;
  readonly startNs: number;
  readonly endNs: number;
  readonly nameCount: number;
}

/** A slice of one of the sources. */
export interface SliceKey {
  readonly source: number;
  readonly slice: number;
}

export type RowMode = "full" | "compact" | "heat";

/** One row of the picture, top to bottom. Headings are drawn by the shell; they only take space. */
export type TimelineRow =
  | { readonly type: "heading"; readonly key: string; readonly height: number }
  | {
      readonly type: "track";
      readonly key: string;
      readonly source: number;
      /** Index in the manifest of the source. */
      readonly track: number;
      readonly lanes: number;
      /** How many lanes are drawn full; the rest compact. Ignored unless mode is "full". */
      readonly fullLanes: number;
      readonly mode: RowMode;
      /** First lane drawn: above 0 while a subtree is in focus. */
      readonly firstLane: number;
    }
  | {
      readonly type: "counter";
      readonly key: string;
      readonly source: number;
      readonly series: number;
      readonly unit: string;
      readonly low: number;
      readonly high: number;
      readonly tone: "memory" | "utilization" | "other";
      readonly height: number;
    };

/** Left edge of the view and its scale. `scrollY` in CSS px over the unpinned rows. */
export interface Camera {
  readonly start: number;
  readonly nsPerPx: number;
  readonly scrollY: number;
}

/** Where a row is on the screen, for the shell to put its label there. CSS px from the canvas. */
export interface PlacedRow {
  readonly row: TimelineRow;
  readonly top: number;
  readonly height: number;
}

export interface CanvasSize {
  readonly width: number;
  readonly height: number;
}

/** What is below the pointer. */
export type Hit =
  | {
      readonly type: "slice";
      readonly key: SliceKey;
      readonly row: string;
      readonly lane: number;
      readonly name: string;
      readonly kind: number;
      readonly start: number;
      readonly end: number;
      readonly flags: number;
    }
  | {
      /** Slices too short to be drawn one by one; `key` is the longest. */
      readonly type: "bucket";
      readonly key: SliceKey;
      readonly row: string;
      readonly lane: number;
      readonly name: string;
      readonly kind: number;
      readonly start: number;
      readonly end: number;
      readonly count: number;
      readonly busyRatio: number;
    }
  | {
      readonly type: "counter";
      readonly row: string;
      readonly low: number;
      readonly high: number;
      readonly last: number;
    };

export interface Area {
  readonly start: number;
  readonly end: number;
  /** Keys of the rows it covers; empty = all. */
  readonly rows: readonly string[];
}

/** A slice that the shell knows in full: the selection, the ends of arrows. */
export interface PlacedSlice {
  readonly key: SliceKey;
  /** Index of the track in the manifest of the source. */
  readonly track: number;
  readonly lane: number;
  readonly start: number;
  readonly end: number;
}

/** Kinds of arrows. The first three are the server's; each of the others is made by the page. */
export const ArrowKind = {
  launch: 0,
  backward: 1,
  /** From a node of a graph to the one that waits for it: no launch. */
  dependency: 2,
  /** Collectives joined across workers. */
  joined: 3,
  /** Where the critical path goes over from one track to another. */
  path: 4,
} as const;

export interface TimelineArrow {
  readonly from: PlacedSlice;
  readonly to: PlacedSlice;
  readonly kind: number;
  readonly count: number;
  readonly label: string;
}

export interface Marker {
  readonly id: string;
  readonly at: number;
  /** A span when given. */
  readonly end: number | null;
  readonly text: string;
}

/** Catapult's four. */
export type MouseMode = "select" | "pan" | "zoom" | "measure";

/** Colours as the theme resolves them: CSS colours that a canvas understands. */
export interface TimelinePalette {
  readonly background: string;
  readonly line: string;
  readonly ink: string;
  readonly inkFaint: string;
  readonly accent: string;
  readonly accentSoft: string;
  readonly focus: string;
  /** By slice kind: lightness steps that a name picks from, and the ink of labels upon each. */
  readonly kinds: readonly {
    readonly fills: readonly string[];
    readonly inks: readonly string[];
  }[];
  readonly counter: Readonly<Record<"memory" | "utilization" | "other", string>>;
  readonly hatch: string;
}

/** What a held key does; "in" and "out" zoom at the pointer. */
export type Move = "left" | "right" | "in" | "out" | "up" | "down";

/** What the user does, for the shell. Called at most once per frame. */
export interface TimelineListener {
  /** `rows` is the same array for as long as no row moved; `size` is the canvas's, in CSS px. */
  onCamera(camera: Camera, rows: readonly PlacedRow[], size: CanvasSize): void;
  onHover(hit: Hit | null, x: number, y: number): void;
  /** A click: null on empty ground. `isDouble` asks to zoom to it. */
  onSelect(hit: Hit | null, isDouble: boolean): void;
  /** While and after an area is dragged; null when it is cleared. `isDone` at the end of the drag. */
  onArea(area: Area | null, isDone: boolean): void;
  onMeasure(area: Area | null): void;
  onArrow(arrow: TimelineArrow): void;
  onLoading(pending: number): void;
  onProblem(message: string): void;
}

export interface TimelineStats {
  readonly frames: number;
  readonly lastFrameMs: number;
  readonly worstFrameMs: number;
  readonly tileBytes: number;
  /** Of the pixels that lanes are painted to, anew in each frame. */
  readonly bitmapBytes: number;
  readonly tiles: number;
  readonly requests: number;
  /** Of the last 240 frames: the time that all but one in twenty stayed below. */
  readonly p95FrameMs?: number;
}

export interface Timeline {
  setSources(sources: readonly TimelineSource[]): void;
  /** Pinned rows stay at the top. */
  setRows(pinned: readonly TimelineRow[], rows: readonly TimelineRow[]): void;
  setPalette(palette: TimelinePalette): void;
  setMode(mode: MouseMode): void;
  setSelection(slice: PlacedSlice | null): void;
  setArea(area: Area | null): void;
  setArrows(arrows: readonly TimelineArrow[]): void;
  setMarkers(markers: readonly Marker[]): void;
  /** Name codes to keep bright, by source; null = all. */
  setHighlight(names: ReadonlyMap<number, ReadonlySet<number>> | null): void;
  /** Vertical grid: instants of steps. */
  setSteps(instants: readonly number[]): void;
  camera(): Camera;
  /** Where the ruler counts from: round multiples from there have a grid line (see ruler.ts). */
  setOrigin(instant: number): void;
  /** Shows [start, end]; `jump` without the spring. */
  show(start: number, end: number, jump?: boolean): void;
  /** Scrolls so that this lane of this row is visible. */
  reveal(row: string, lane: number): void;
  /** Moves by a share of the width; negative = left. Holds accelerate: call once per repeat. */
  pan(share: number): void;
  /** Around an instant, or the pointer, or the middle. 2 shows half as much, 0.5 twice as much. */
  zoom(factor: number, at?: number): void;
  /** At once, without the spring: a scroll bar follows the hand. */
  scroll(px: number): void;
  /** A key went down: moves smoothly, ever faster, until it goes up. Repeats do no harm. */
  press(move: Move, isFast: boolean): void;
  release(move: Move): void;
  name(source: number, code: number): string;
  /** What is drawn now, with rulers and labels left to the shell. */
  png(): Promise<Blob>;
  stats(): TimelineStats;
  /** Pauses while the tab is hidden. */
  setActive(active: boolean): void;
  close(): void;
}

/**
 * While the timeline draws, its element carries `data-stats`: the stats as JSON, from the first tiles
 * on and then once a second, for whoever measures from outside.
 *
 * In `timeline/engine.ts`: `openTimeline(element, listener, palette)`. */
export type OpenTimeline = (
  element: HTMLElement,
  listener: TimelineListener,
  palette: TimelinePalette,
) => Timeline;
