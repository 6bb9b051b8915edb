/** What dragging does, by mode: each drag is told where the pointer is, and when it is let go. */
import type { Area } from "../contract";
import { type Geometry, rowAt } from "../draw/places";
import { snappedTime } from "./snap";

/** What drags act upon. */
export interface DragHost {
  scene(): Geometry;
  panBy(dx: number, dy: number): void;
  zoomAt(factor: number, x: number): void;
  showSpan(start: number, end: number): void;
  setArea(area: Area | null, isDone: boolean): void;
  setMeasure(area: Area | null): void;
  setZoomBand(area: Area | null): void;
}

export interface Drag {
  /** `isFree`: no snapping. */
  move(x: number, y: number, isFree: boolean): void;
  end(): void;
  cancel(): void;
}

const nothing = () => undefined;

export function panDrag(host: DragHost, x0: number, y0: number): Drag {
  let [x, y] = [x0, y0];
  return {
    move(toX, toY) {
      host.panBy(x - toX, y - toY);
      [x, y] = [toX, toY];
    },
    end: nothing,
    cancel: nothing,
  };
}

const timeAt = (scene: Geometry, x: number, y: number, isFree: boolean): number =>
  isFree ? scene.camera.start + x * scene.camera.nsPerPx : snappedTime(scene, x, y);

/** From one time to another, whichever is first. */
const areaOf = (anchor: number, other: number, rows: readonly string[] = []): Area => ({
  start: Math.min(anchor, other),
  end: Math.max(anchor, other),
  rows,
});

/** An area of time over the rows between where the drag began and where it is. */
export function areaDrag(host: DragHost, x0: number, y0: number, isFree: boolean): Drag {
  const anchor = timeAt(host.scene(), x0, y0, isFree);
  const anchorRow = rowKey(host.scene(), y0);
  let area: Area | null = null;
  return {
    move(x, y, free) {
      const scene = host.scene();
      const other = timeAt(scene, x, y, free);
      area = areaOf(anchor, other, rowsBetween(scene, anchorRow, y));
      host.setArea(area, false);
    },
    end: () => host.setArea(area !== null && area.end > area.start ? area : null, true),
    cancel: () => host.setArea(null, true),
  };
}

/** One edge of the area that is there. */
export function edgeDrag(host: DragHost, area: Area, edge: "start" | "end"): Drag {
  const anchor = edge === "start" ? area.end : area.start;
  let now = area;
  return {
    move(x, y, isFree) {
      const other = timeAt(host.scene(), x, y, isFree);
      now = areaOf(anchor, other, area.rows);
      host.setArea(now, false);
    },
    end: () => host.setArea(now, true),
    cancel: () => host.setArea(area, true),
  };
}

export function measureDrag(host: DragHost, x0: number, y0: number, isFree: boolean): Drag {
  const anchor = timeAt(host.scene(), x0, y0, isFree);
  return {
    move(x, y, free) {
      const other = timeAt(host.scene(), x, y, free);
      host.setMeasure(areaOf(anchor, other));
    },
    end: nothing,
    cancel: () => host.setMeasure(null),
  };
}

/** So far a drag goes before it is sideways or up and down, in CSS px. */
const UNDECIDED_PX = 5;
/** Dragging so far up or down zooms by e. */
const PX_PER_E = 120;

/** Sideways it is a band that is shown when it is let go; up and down it zooms at once. */
export function zoomDrag(host: DragHost, x0: number, y0: number): Drag {
  const { camera } = host.scene();
  const anchor = camera.start + x0 * camera.nsPerPx;
  let way: "sideways" | "upright" | null = null;
  let y = y0;
  let band: Area | null = null;
  return {
    move(toX, toY) {
      if (way === null && Math.hypot(toX - x0, toY - y0) > UNDECIDED_PX) {
        way = Math.abs(toX - x0) >= Math.abs(toY - y0) ? "sideways" : "upright";
      }
      if (way === "upright") {
        host.zoomAt(Math.exp((toY - y) / PX_PER_E), x0);
        y = toY;
      } else if (way === "sideways") {
        const now = host.scene().camera;
        const other = now.start + toX * now.nsPerPx;
        band = areaOf(anchor, other);
        host.setZoomBand(band);
      }
    },
    end() {
      host.setZoomBand(null);
      if (band !== null && band.end > band.start) {
        host.showSpan(band.start, band.end);
      }
    },
    cancel: () => host.setZoomBand(null),
  };
}

function rowKey(scene: Geometry, y: number): string | null {
  const place = rowAt(scene, y);
  return place?.plan.stack.rows[place.index]?.key ?? null;
}

/** Tracks and counters from one row to the one at `y`, if both are in the same list; else that one. */
function rowsBetween(scene: Geometry, anchorRow: string | null, y: number): string[] {
  const plan = [scene.pinned, scene.rows].find(
    ({ stack }) => anchorRow !== null && stack.indexOf(anchorRow) >= 0,
  );
  if (plan === undefined || anchorRow === null) {
    return [];
  }
  const from = plan.stack.indexOf(anchorRow);
  const place = rowAt(scene, y);
  const to = place?.plan === plan ? place.index : y < 0 ? 0 : from;
  const { rows } = plan.stack;
  return rows
    .slice(Math.min(from, to), Math.max(from, to) + 1)
    .filter((row) => row.type !== "heading")
    .map((row) => row.key);
}
