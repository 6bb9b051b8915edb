/** How long frames take, and what is left out while they take too long. */

/** Longer frames cost something while the picture moves. */
const BUDGET_MS = 10;
const MOST_LABELS = 800;
const FEW_LABELS = 160;
const KEPT = 240;
/** So long after the last movement everything is drawn again. */
export const RESTORE_MS = 80;

export class Budget {
  frames = 0;
  lastMs = 0;
  worstMs = 0;
  private readonly kept = new Float32Array(KEPT);
  private average = 0;
  /** 0 everything, 1 few labels, 2 none. */
  private degree = 0;

  /** How long a frame took in which the picture moved. */
  add(ms: number, isMoving: boolean): void {
    this.kept[this.frames % KEPT] = ms;
    this.frames += 1;
    this.lastMs = ms;
    this.worstMs = Math.max(this.worstMs, ms);
    if (!isMoving) {
      return;
    }
    this.average += (ms - this.average) * 0.2;
    if (this.average > BUDGET_MS) {
      this.degree = Math.min(2, this.degree + 1);
      this.average = BUDGET_MS * 0.6;
    } else if (this.average < BUDGET_MS * 0.35) {
      this.degree = Math.max(0, this.degree - 1);
      this.average = BUDGET_MS * 0.6;
    }
  }

  mostLabels(isMoving: boolean): number {
    return isMoving ? ([MOST_LABELS, FEW_LABELS, 0][this.degree] ?? 0) : MOST_LABELS;
  }

  get isReduced(): boolean {
    return this.degree > 0;
  }

  p95(): number {
    const kept = this.kept.slice(0, Math.min(this.frames, KEPT)).sort();
    return kept[Math.floor(kept.length * 0.95)] ?? 0;
  }
}
