/** The line of a counter, in rows of pixels from the top of its strip. */
import type { CounterPaint } from "./paint";

const NONE = -1;

/** What the line does in each pixel column. */
export class Curve {
  /** The highest and the lowest row that it reaches; `upper` is NONE where there is no value. */
  private upper = new Int32Array(0);
  private lower = new Int32Array(0);
  /** Sum of the means told for the column, and how many; none where an earlier value holds. */
  private sum = new Float64Array(0);
  private told = new Int32Array(0);
  /** Whether it holds more than one value. */
  private isMixed = new Uint8Array(0);
  private width = 0;
  private base = 0;
  private low = 0;
  private perUnit = 0;
  /** The value that holds, and the first column that is not painted yet. */
  private value = Number.NaN;
  private column = 0;

  reset(width: number, low: number, high: number, height: number): void {
    if (this.upper.length < width) {
      this.upper = new Int32Array(width);
      this.lower = new Int32Array(width);
      this.sum = new Float64Array(width);
      this.told = new Int32Array(width);
      this.isMixed = new Uint8Array(width);
    }
    this.upper.fill(NONE, 0, width);
    this.sum.fill(0, 0, width);
    this.told.fill(0, 0, width);
    this.isMixed.fill(0, 0, width);
    this.width = width;
    this.base = height;
    this.low = low;
    this.perUnit = height / (high > low ? high - low : 1);
    this.value = Number.NaN;
    this.column = 0;
  }

  /** From here on another tile tells; `value` holds at its edge. */
  begin(x: number, value: number): void {
    this.column = Math.max(this.column, Math.min(this.width, Math.round(x)));
    this.value = value;
  }

  /** The value that holds is drawn up to `x`. */
  hold(x: number): void {
    const end = Math.min(this.width, Math.round(x));
    if (Number.isFinite(this.value)) {
      const y = this.yOf(this.value);
      for (let column = this.column; column < end; column += 1) {
        this.reach(column, y);
      }
    }
    this.column = Math.max(this.column, end);
  }

  add(x: number, low: number, high: number, last: number, mean: number): void {
    if (!Number.isFinite(low + high + last)) {
      return;
    }
    const column = Math.floor(x);
    this.hold(column);
    if (column >= 0 && column < this.width) {
      if (Number.isFinite(this.value)) {
        this.reach(column, this.yOf(this.value));
      }
      this.reach(column, this.yOf(high));
      this.reach(column, this.yOf(low));
      this.sum[column] = (this.sum[column] as number) + (Number.isFinite(mean) ? mean : last);
      this.told[column] = (this.told[column] as number) + 1;
      if (low !== high || (this.told[column] as number) > 1) {
        this.isMixed[column] = 1;
      }
      this.column = Math.max(this.column, column + 1);
    }
    this.value = last;
  }

  private yOf(value: number): number {
    const y = Math.round(this.base - (value - this.low) * this.perUnit);
    return Math.max(0, Math.min(this.base, y));
  }

  private reach(column: number, y: number): void {
    const upper = this.upper[column] as number;
    if (upper === NONE) {
      this.upper[column] = y;
      this.lower[column] = y;
    } else {
      this.upper[column] = Math.min(upper, y);
      this.lower[column] = Math.max(this.lower[column] as number, y);
    }
  }

  /** Onto rows of `pixels` from `begin` on, as many as `height`. */
  draw(
    pixels: Uint32Array,
    begin: number,
    height: number,
    thickness: number,
    colors: CounterPaint,
  ): void {
    let before = NONE;
    for (let column = 0; column < this.width; column += 1) {
      const y = this.middle(column);
      if (y !== NONE) {
        const isMixed = this.isMixed[column] === 1;
        const from = before === NONE ? y : before;
        const upper = this.upper[column] as number;
        const lower = this.lower[column] as number;
        // Between two means the line is closed, as steps are where one value follows another.
        const top = isMixed ? Math.min(from, y) : upper;
        const end = (isMixed ? Math.max(from, y) : lower) + thickness;
        const place = begin + column;
        this.fill(pixels, place, Math.min(upper, top), lower + thickness, colors.band);
        this.fill(pixels, place, lower + thickness, height, colors.ground);
        this.fill(pixels, place, top, Math.min(end, height), colors.line);
      }
      before = y;
    }
  }

  /** Where the line is when it leaves the column; NONE where there is no value. */
  private middle(column: number): number {
    const told = this.told[column] as number;
    return told === 0
      ? (this.upper[column] as number)
      : this.yOf((this.sum[column] as number) / told);
  }

  private fill(pixels: Uint32Array, place: number, from: number, to: number, color: number): void {
    for (let row = from; row < to; row += 1) {
      pixels[place + row * this.width] = color;
    }
  }
}
