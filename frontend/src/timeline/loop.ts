/** Calls for a frame when something changed, and not at all while nobody can see it. */
import { Budget, RESTORE_MS } from "./draw/budget";

/** After a pause, no more than this much time is made up for. */
const LONGEST_STEP_MS = 64;
const FIRST_STEP_MS = 16;

export interface Frame {
  readonly number: number;
  readonly nowMs: number;
  readonly elapsedMs: number;
  /** Something in the picture itself changed. */
  readonly isPictureStale: boolean;
  readonly isOverlayStale: boolean;
}

/** What became of a frame. */
export interface Drawn {
  /** The picture was drawn, not only what lies over it. */
  readonly isPicture: boolean;
  /** It is on its way: another frame is needed. */
  readonly isMoving: boolean;
}

export class Loop {
  readonly budget = new Budget();
  number = 0;
  isMoving = false;
  private isPictureStale = true;
  private isOverlayStale = true;
  private request = 0;
  private lastAt = Number.NEGATIVE_INFINITY;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isActive = true;

  constructor(
    private readonly draw: (frame: Frame) => Drawn,
    private readonly canDraw: () => boolean,
  ) {}

  readonly picture = (): void => {
    this.isPictureStale = true;
    this.wake();
  };

  readonly overlay = (): void => {
    this.isOverlayStale = true;
    this.wake();
  };

  /** Something is to be done in the next frame, whether or not it is seen. */
  readonly wake = (): void => {
    if (this.request === 0 && this.isActive && this.canDraw()) {
      this.request = requestAnimationFrame(this.run);
    }
  };

  setActive(isActive: boolean): void {
    this.isActive = isActive;
    if (isActive) {
      this.lastAt = Number.NEGATIVE_INFINITY;
      this.picture();
    } else {
      this.stop();
    }
  }

  stop(): void {
    this.isActive = false;
    cancelAnimationFrame(this.request);
    clearTimeout(this.timer);
    this.request = 0;
  }

  private readonly run = (nowMs: number): void => {
    this.request = 0;
    if (!this.canDraw()) {
      return;
    }
    const since = nowMs - this.lastAt;
    const elapsedMs =
      since > LONGEST_STEP_MS * 4 ? FIRST_STEP_MS : Math.min(since, LONGEST_STEP_MS);
    this.lastAt = nowMs;
    this.number += 1;
    const frame: Frame = {
      number: this.number,
      nowMs,
      elapsedMs,
      isPictureStale: this.isPictureStale,
      isOverlayStale: this.isOverlayStale,
    };
    this.isPictureStale = false;
    this.isOverlayStale = false;
    const begin = performance.now();
    const { isPicture, isMoving } = this.draw(frame);
    if (isPicture) {
      this.budget.add(performance.now() - begin, isMoving);
    }
    this.isMoving = isMoving;
    clearTimeout(this.timer);
    if (isMoving) {
      this.wake();
    } else if (this.budget.isReduced && isPicture) {
      // What was left out while it moved.
      this.timer = setTimeout(this.picture, RESTORE_MS);
    }
  };
}
