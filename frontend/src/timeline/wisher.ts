/** Tells the scheduler which tiles the view needs, as often as it is worth it. */
import type { View } from "./camera/view";
import type { State } from "./state";
import type { Scheduler } from "./tiles/scheduler";
import { wishesFor } from "./tiles/wishes";

/** While the picture moves. */
const EVERY_MS = 40;

export class Wisher {
  private isStale = true;
  private lastAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly scheduler: Scheduler) {}

  /** What is wished for may be something else now. */
  renew(): void {
    this.isStale = true;
  }

  /** What will be seen when the view has come to rest: levels it only passes are not asked for. */
  wish(nowMs: number, isMoving: boolean, view: View, state: State, height: number): void {
    if (!this.isStale || (isMoving && nowMs - this.lastAt < EVERY_MS)) {
      return;
    }
    this.isStale = false;
    this.lastAt = nowMs;
    const { target } = view;
    const edge = Math.min(state.pinned.stack.height, height);
    const wishes = wishesFor({
      ...view.targetSpan(),
      nsPerPx: target.nsPerPx,
      parts: [
        { plan: state.pinned, from: 0, to: edge },
        { plan: state.rows, from: target.scrollY, to: target.scrollY + height - edge },
      ],
    });
    this.scheduler.wish(wishes);
  }
}
