/** The camera with its target: what is shown now, and where every input wants it to be. */
import type { Camera } from "../contract";
import {
  type Bounds,
  clamp,
  type MutableCamera,
  showSpan,
  timeAt,
  xAt,
  zoomAround,
} from "./camera";
import { approach, HeldKeys, jump } from "./motion";

/** How large the canvas is, and what there is to see. */
export interface Extents {
  /** First and last instant of all sources. */
  readonly low: number;
  readonly high: number;
  /** In CSS px; 0 while the canvas is hidden. */
  readonly width: number;
  readonly height: number;
  /** Of all rows that scroll, and of those that do not. */
  readonly rowsHeight: number;
  readonly pinnedHeight: number;
}

/** Beside a span that is shown, as a share of the width. */
const MARGIN = 0.03;
/** Below the last row. */
const SPARE_PX = 24;
/** Above and below a lane that is scrolled to. */
const REVEAL_PX = 24;
/** Calls of `pan` that follow so closely come from a held key. */
const REPEAT_MS = 150;
const REPEAT_GAIN = 0.08;
const MOST_GAIN = 3;

export class View {
  readonly now: MutableCamera = { start: 0, nsPerPx: 1, scrollY: 0 };
  readonly target: MutableCamera = { start: 0, nsPerPx: 1, scrollY: 0 };
  readonly held = new HeldKeys();
  /** Asked for before there was a canvas. */
  private waiting: { start: number; end: number } | null = null;
  private repeats = 0;
  private lastPan = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly extents: () => Extents,
    private readonly isStill: () => boolean,
  ) {}

  bounds(): Bounds {
    const { low, high, width, height, rowsHeight, pinnedHeight } = this.extents();
    const hidden = rowsHeight - Math.max(0, height - pinnedHeight);
    return { low, high, width, maxScroll: hidden > 0 ? hidden + SPARE_PX : 0 };
  }

  show(start: number, end: number, isJump: boolean): void {
    const bounds = this.bounds();
    if (bounds.width === 0) {
      this.waiting = { start, end };
      return;
    }
    this.waiting = null;
    // A jump shows just what it was asked for: a link must lead where it was copied.
    showSpan(this.target, start, end, bounds, isJump ? 0 : MARGIN);
    if (isJump) {
      jump(this.now, this.target);
    }
  }

  /** The size or what there is to see changed. */
  refit(): void {
    const bounds = this.bounds();
    if (bounds.width === 0) {
      return;
    }
    if (this.waiting !== null) {
      this.show(this.waiting.start, this.waiting.end, true);
    }
    clamp(this.target, bounds);
    clamp(this.now, bounds);
  }

  /** Another width shows the same span. */
  resize(before: number): void {
    const { width } = this.extents();
    if (before > 0 && width > 0 && before !== width) {
      this.target.nsPerPx *= before / width;
      this.now.nsPerPx *= before / width;
    }
    this.refit();
  }

  /** Follows the hand at once, without the spring. */
  dragBy(dx: number, dy: number): void {
    this.moveTarget(dx, dy);
    this.now.start += dx * this.now.nsPerPx;
    this.now.scrollY += dy;
    clamp(this.now, this.bounds());
  }

  moveTarget(dx: number, dy: number): void {
    this.target.start += dx * this.target.nsPerPx;
    this.target.scrollY += dy;
    clamp(this.target, this.bounds());
  }

  panShare(share: number, nowMs: number): void {
    this.repeats = nowMs - this.lastPan < REPEAT_MS ? this.repeats + 1 : 0;
    this.lastPan = nowMs;
    const gain = Math.min(MOST_GAIN, 1 + this.repeats * REPEAT_GAIN);
    this.moveTarget(share * gain * this.extents().width, 0);
  }

  /** `factor` above 1 is farther away. */
  scaleAt(factor: number, x: number): void {
    zoomAround(this.target, factor, x, this.bounds());
  }

  xOf(instant: number): number {
    return xAt(this.target, instant);
  }

  /** Scrolls so that [top, top + height) of the rows is seen. */
  reveal(top: number, height: number): void {
    const extents = this.extents();
    const room = Math.max(0, extents.height - extents.pinnedHeight);
    const margin = Math.min(REVEAL_PX, Math.max(0, (room - height) / 2));
    const highest = top - margin;
    const lowest = top + height + margin - room;
    this.target.scrollY = Math.max(lowest, Math.min(highest, this.target.scrollY));
    clamp(this.target, this.bounds());
  }

  /** One frame later; true while it moves. */
  advance(elapsedMs: number, anchorX: number): boolean {
    const bounds = this.bounds();
    if (!this.held.isEmpty) {
      this.held.advance(this.target, elapsedMs, bounds, anchorX);
    }
    if (this.isStill()) {
      jump(this.now, this.target);
      return !this.held.isEmpty;
    }
    const isThere = approach(this.now, this.target, elapsedMs, Math.max(1, bounds.width));
    return !isThere || !this.held.isEmpty;
  }

  /** What will be seen when it has come to rest. */
  targetSpan(): { start: number; end: number } {
    const { width } = this.extents();
    return { start: this.target.start, end: timeAt(this.target, width) };
  }

  camera(): Camera {
    return { ...this.now };
  }
}
