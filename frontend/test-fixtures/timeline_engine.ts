/** A canvas for tests: it draws nothing, remembers what it was told, and plays the user's hand. */

import type {
  Area,
  Camera,
  Hit,
  Marker,
  MouseMode,
  Move,
  OpenTimeline,
  PlacedRow,
  PlacedSlice,
  Timeline,
  TimelineArrow,
  TimelineListener,
  TimelineRow,
  TimelineSource,
} from "../src/timeline/contract";
import { rowHeight } from "../src/timeline/rows/layout";

export const CANVAS_WIDTH = 1000;
export const CANVAS_SIZE = { width: CANVAS_WIDTH, height: 960 };

/** What the canvas was told last. */
export interface Told {
  sources: readonly TimelineSource[];
  pinned: readonly TimelineRow[];
  rows: readonly TimelineRow[];
  selection: PlacedSlice | null;
  area: Area | null;
  arrows: readonly TimelineArrow[];
  markers: readonly Marker[];
  highlight: ReadonlyMap<number, ReadonlySet<number>> | null;
  mode: MouseMode;
  camera: Camera;
  revealed: (readonly [string, number])[];
  pressed: (readonly [Move, boolean])[];
  released: Move[];
  isOpen: boolean;
}

export interface FakeCanvas {
  readonly open: OpenTimeline;
  readonly told: Told;
  /** The user's hand. */
  readonly hand: TimelineListener;
}

function nothingTold(): Told {
  return {
    sources: [],
    pinned: [],
    rows: [],
    selection: null,
    area: null,
    arrows: [],
    markers: [],
    highlight: null,
    mode: "select",
    camera: { start: 0, nsPerPx: 1, scrollY: 0 },
    revealed: [],
    pressed: [],
    released: [],
    isOpen: false,
  };
}

function placed(rows: readonly TimelineRow[]): readonly PlacedRow[] {
  let top = 0;
  return rows.map((row) => {
    const height = rowHeight(row);
    top += height;
    return { row, top: top - height, height };
  });
}

const idle: TimelineListener = {
  onCamera() {},
  onHover() {},
  onSelect() {},
  onArea() {},
  onMeasure() {},
  onArrow() {},
  onLoading() {},
  onProblem() {},
};

export function fakeCanvas(): FakeCanvas {
  const told = nothingTold();
  const canvas: { listener: TimelineListener } = { listener: idle };
  const tell = () =>
    canvas.listener.onCamera(told.camera, placed([...told.pinned, ...told.rows]), CANVAS_SIZE);
  const move = (camera: Partial<Camera>) => {
    told.camera = { ...told.camera, ...camera };
    tell();
  };
  const timeline: Timeline = {
    setSources: (sources) => {
      told.sources = sources;
    },
    setRows(pinned, rows) {
      told.pinned = pinned;
      told.rows = rows;
      tell();
    },
    setPalette() {},
    setMode: (mode) => {
      told.mode = mode;
    },
    setSelection: (slice) => {
      told.selection = slice;
    },
    setArea: (area) => {
      told.area = area;
    },
    setArrows: (arrows) => {
      told.arrows = arrows;
    },
    setMarkers: (markers) => {
      told.markers = markers;
    },
    setHighlight: (highlight) => {
      told.highlight = highlight;
    },
    setSteps() {},
    setOrigin() {},
    camera: () => told.camera,
    show: (start, end) => move({ start, nsPerPx: (end - start) / CANVAS_WIDTH }),
    reveal: (row, lane) => {
      told.revealed.push([row, lane]);
    },
    pan: (share) => move({ start: told.camera.start + share * CANVAS_WIDTH * told.camera.nsPerPx }),
    zoom: (factor) => move({ nsPerPx: told.camera.nsPerPx / factor }),
    scroll: (px) => move({ scrollY: told.camera.scrollY + px }),
    press: (wanted, isFast) => {
      told.pressed.push([wanted, isFast]);
    },
    release: (wanted) => {
      told.released.push(wanted);
    },
    name: () => "",
    png: async () => new Blob([]),
    stats: () => ({
      frames: 0,
      lastFrameMs: 0,
      worstFrameMs: 0,
      tileBytes: 0,
      bitmapBytes: 0,
      tiles: 0,
      requests: 0,
    }),
    setActive() {},
    close() {
      told.isOpen = false;
      canvas.listener = idle;
    },
  };
  return {
    told,
    open(_, listener) {
      Object.assign(told, nothingTold(), { isOpen: true });
      canvas.listener = listener;
      return timeline;
    },
    hand: {
      onCamera: (camera, rows, size) => canvas.listener.onCamera(camera, rows, size),
      onHover: (hit, x, y) => canvas.listener.onHover(hit, x, y),
      onSelect: (hit, isDouble) => canvas.listener.onSelect(hit, isDouble),
      onArea: (area, isDone) => canvas.listener.onArea(area, isDone),
      onMeasure: (area) => canvas.listener.onMeasure(area),
      onArrow: (arrow) => canvas.listener.onArrow(arrow),
      onLoading: (pending) => canvas.listener.onLoading(pending),
      onProblem: (message) => canvas.listener.onProblem(message),
    },
  };
}

/** The range that the canvas shows. */
export const shownRange = ({ camera }: Told): readonly [number, number] => [
  Math.round(camera.start),
  Math.round(camera.start + camera.nsPerPx * CANVAS_WIDTH),
];

export const sliceHit = (over: Partial<Extract<Hit, { type: "slice" }>> = {}): Hit => ({
  type: "slice",
  key: { source: 0, slice: 9904 },
  row: "thread/542/542/ops",
  lane: 2,
  name: "aten::conv2d",
  kind: 0,
  start: 19_930_000,
  end: 20_159_200,
  flags: 0,
  ...over,
});
