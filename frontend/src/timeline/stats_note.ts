/** Writes down how the timeline fares, for whoever measures from outside. */
import type { TimelineStats } from "./contract";

const EVERY_MS = 1000;

export class StatsNote {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private hasTiles = false;

  constructor(
    private readonly element: HTMLElement,
    private readonly stats: () => TimelineStats,
  ) {}

  /** When the first tiles are drawn, then at most once a second, and in the end what is true. */
  renew(tiles: number): void {
    if (!this.hasTiles && tiles > 0) {
      this.hasTiles = true;
      this.write();
    }
    this.timer ??= setTimeout(this.write, EVERY_MS);
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  private readonly write = (): void => {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.element.dataset["stats"] = JSON.stringify(this.stats());
  };
}
