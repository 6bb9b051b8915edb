import type { Area, MouseMode } from "../contract";
import {
  areaDrag,
  type Drag,
  type DragHost,
  edgeDrag,
  measureDrag,
  panDrag,
  zoomDrag,
} from "./drags";

/** What a turn of the wheel, or two fingers on a touchpad, mean. */

export type WheelAct =
  | { readonly type: "zoom"; readonly factor: number }
  | { readonly type: "move"; readonly dx: number; readonly dy: number; readonly isCoarse: boolean };

const LINE_PX = 18;
/** A notch of a wheel is at least so many px; fingers send less at a time. */
const NOTCH_PX = 50;
const ZOOM_PER_PX_NOTCH = 0.0028;
const ZOOM_PER_PX_FINGER = 0.01;
const LARGEST_ZOOM = 0.7;

export type WheelTurn = Pick<
  WheelEvent,
  "deltaX" | "deltaY" | "deltaMode" | "ctrlKey" | "metaKey" | "shiftKey"
>;

export function wheelAct(turn: WheelTurn, pageHeight: number): WheelAct {
  const unit = turn.deltaMode === 0 ? 1 : turn.deltaMode === 1 ? LINE_PX : pageHeight;
  const dx = turn.deltaX * unit;
  const dy = turn.deltaY * unit;
  const isCoarse = Math.max(Math.abs(dx), Math.abs(dy)) >= NOTCH_PX;
  if (turn.ctrlKey || turn.metaKey) {
    const perPx = isCoarse ? ZOOM_PER_PX_NOTCH : ZOOM_PER_PX_FINGER;
    const power = Math.max(-LARGEST_ZOOM, Math.min(LARGEST_ZOOM, dy * perPx));
    return { type: "zoom", factor: Math.exp(power) };
  }
  if (turn.shiftKey) {
    // Some systems turn the delta themselves, some leave that to the page.
    return { type: "move", dx: dx === 0 ? dy : dx, dy: 0, isCoarse };
  }
  return { type: "move", dx, dy, isCoarse };
}

/** Pointers and wheel on the canvas, as what they mean. */

export interface GestureHost extends DragHost {
  mode(): MouseMode;
  area(): Area | null;
  /** Where the pointer is; null when it left. */
  pointAt(place: { x: number; y: number } | null): void;
  click(x: number, y: number, isDouble: boolean): void;
  moveBy(dx: number, dy: number, isCoarse: boolean): void;
}

/** Less than this, in CSS px, is a click with an unsteady hand. */
const DRAG_FROM_PX = 4;
/** So near an edge of the area, the edge is meant. */
const EDGE_PX = 4;

interface Point {
  x: number;
  y: number;
}

export class Gestures {
  private readonly pointers = new Map<number, Point>();
  private drag: Drag | null = null;
  private pressed: (Point & { id: number; makeDrag: () => Drag; isClick: boolean }) | null = null;
  private isSpaceDown = false;
  private readonly controller = new AbortController();

  constructor(
    private readonly element: HTMLElement,
    private readonly host: GestureHost,
  ) {
    const { signal } = this.controller;
    element.style.touchAction = "none";
    element.style.userSelect = "none";
    element.addEventListener("pointerdown", this.onDown, { signal });
    element.addEventListener("mousedown", preventAutoScroll, { signal });
    element.addEventListener("pointermove", this.onMove, { signal });
    element.addEventListener("pointerup", this.onUp, { signal });
    element.addEventListener("pointercancel", this.onCancel, { signal });
    element.addEventListener("pointerleave", () => host.pointAt(null), { signal });
    element.addEventListener("wheel", this.onWheel, { signal, passive: false });
    const page = element.ownerDocument;
    // Before the page's own keys: Esc ends the drag, and nothing else then.
    page.addEventListener("keydown", this.onKey, { signal, capture: true });
    page.addEventListener("keyup", this.onKey, { signal, capture: true });
  }

  get isDragging(): boolean {
    return this.drag !== null;
  }

  close(): void {
    this.controller.abort();
  }

  private place(event: MouseEvent): Point {
    const box = this.element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  private readonly onKey = (event: KeyboardEvent): void => {
    if (event.code === "Space") {
      this.isSpaceDown = event.type === "keydown";
      if (this.isSpaceDown && event.target === this.element) {
        event.preventDefault(); // It would scroll the page.
      }
    } else if (event.key === "Escape" && event.type === "keydown" && this.drag !== null) {
      this.drag.cancel();
      this.drag = null;
      this.pressed = null;
      event.stopPropagation();
    }
  };

  private readonly onDown = (event: PointerEvent): void => {
    if (!this.isOnCanvas(event)) {
      return;
    }
    const place = this.place(event);
    this.pointers.set(event.pointerId, place);
    if (this.pointers.size > 1) {
      this.drag?.cancel();
      this.drag = null;
      this.pressed = null;
      return;
    }
    if (event.button > 1) {
      return;
    }
    this.element.setPointerCapture(event.pointerId);
    const makeDrag = this.dragFor(event, place);
    const isClick = event.button === 0;
    this.pressed = { ...place, id: event.pointerId, makeDrag, isClick };
  };

  /** The shell may put its own things over the canvas: those are not ours. */
  private isOnCanvas(event: Event): boolean {
    return event.target === this.element || event.target instanceof HTMLCanvasElement;
  }

  private dragFor(event: PointerEvent, { x, y }: Point): () => Drag {
    const { host } = this;
    const isPan = event.button === 1 || event.shiftKey || this.isSpaceDown;
    if (isPan || event.pointerType === "touch" || host.mode() === "pan") {
      return () => panDrag(host, x, y);
    }
    const edge = this.edgeAt(x);
    const area = host.area();
    if (edge !== null && area !== null) {
      return () => edgeDrag(host, area, edge);
    }
    switch (host.mode()) {
      case "zoom":
        return () => zoomDrag(host, x, y);
      case "measure":
        return () => measureDrag(host, x, y, event.altKey);
      default:
        return () => areaDrag(host, x, y, event.altKey);
    }
  }

  /** The edge of the area that is at `x`, if it can be dragged. */
  private edgeAt(x: number): "start" | "end" | null {
    const area = this.host.area();
    if (area === null || this.host.mode() !== "select") {
      return null;
    }
    const { camera } = this.host.scene();
    for (const edge of ["start", "end"] as const) {
      if (Math.abs((area[edge] - camera.start) / camera.nsPerPx - x) <= EDGE_PX) {
        return edge;
      }
    }
    return null;
  }

  private readonly onMove = (event: PointerEvent): void => {
    const place = this.place(event);
    const before = this.pointers.get(event.pointerId);
    if (this.pointers.size === 2 && before !== undefined) {
      this.pinch(event.pointerId, before, place);
      return;
    }
    if (before !== undefined) {
      this.pointers.set(event.pointerId, place);
    }
    this.dragTo(place, event.altKey);
    this.host.pointAt(this.isOnCanvas(event) || this.drag !== null ? place : null);
    this.showCursor(place.x);
  };

  private dragTo(place: Point, isFree: boolean): void {
    const { pressed } = this;
    if (pressed === null) {
      return;
    }
    if (this.drag === null) {
      if (Math.hypot(place.x - pressed.x, place.y - pressed.y) < DRAG_FROM_PX) {
        return;
      }
      this.drag = pressed.makeDrag();
    }
    this.drag.move(place.x, place.y, isFree);
  }

  /** Two fingers: what is between them stays between them. */
  private pinch(id: number, before: Point, place: Point): void {
    const other = [...this.pointers].find(([each]) => each !== id)?.[1];
    this.pointers.set(id, place);
    if (other === undefined) {
      return;
    }
    const was = Math.max(20, Math.abs(before.x - other.x));
    const is = Math.max(20, Math.abs(place.x - other.x));
    this.host.panBy((before.x - place.x) / 2, (before.y - place.y) / 2);
    this.host.zoomAt(was / is, (place.x + other.x) / 2);
  }

  private readonly onUp = (event: PointerEvent): void => {
    this.pointers.delete(event.pointerId);
    const { pressed, drag } = this;
    if (pressed?.id !== event.pointerId) {
      return;
    }
    this.pressed = null;
    this.drag = null;
    if (drag !== null) {
      drag.end();
    } else if (pressed.isClick) {
      this.host.click(pressed.x, pressed.y, this.isSecondClick(event, pressed));
    }
    this.showCursor(this.place(event).x);
  };

  private lastClick = { x: 0, y: 0, at: Number.NEGATIVE_INFINITY };

  private isSecondClick(event: PointerEvent, { x, y }: Point): boolean {
    const { lastClick } = this;
    const isNear = Math.hypot(x - lastClick.x, y - lastClick.y) <= DRAG_FROM_PX;
    const isSecond = isNear && event.timeStamp - lastClick.at < DOUBLE_CLICK_MS;
    const at = isSecond ? Number.NEGATIVE_INFINITY : event.timeStamp;
    this.lastClick = { x, y, at };
    return isSecond;
  }

  private readonly onCancel = (event: PointerEvent): void => {
    this.pointers.delete(event.pointerId);
    this.drag?.cancel();
    this.drag = null;
    this.pressed = null;
  };

  private readonly onWheel = (event: WheelEvent): void => {
    event.preventDefault();
    const act = wheelAct(event, this.element.clientHeight);
    if (act.type === "zoom") {
      this.host.zoomAt(act.factor, this.place(event).x);
    } else {
      this.host.moveBy(act.dx, act.dy, act.isCoarse);
    }
  };

  private showCursor(x: number): void {
    this.element.style.cursor = this.cursor(x);
  }

  private cursor(x: number): string {
    const mode = this.host.mode();
    if (mode === "pan" || this.isSpaceDown) {
      return this.drag === null ? "grab" : "grabbing";
    }
    if (this.edgeAt(x) !== null) {
      return "ew-resize";
    }
    return mode === "zoom" ? "zoom-in" : mode === "measure" ? "crosshair" : "default";
  }
}

const DOUBLE_CLICK_MS = 400;

function preventAutoScroll(event: MouseEvent): void {
  if (event.button === 1) {
    event.preventDefault();
  }
}
