/** The labels of a frame: gathered while lanes are painted, then the widest of them drawn. */
import type { Advances } from "../../base/text/advances";
import type { NameTable } from "../names/name_table";
import type { Paint } from "./paint";

/** Narrower slices have no label, in CSS px. */
export const LEAST_LABEL = 28;
const MOST_GATHERED = 8192;
const PADDING = 4;
/** Widths are told apart up to so many CSS px. */
const WIDEST = 1024;

export class Labels {
  length = 0;
  private readonly left = new Float32Array(MOST_GATHERED);
  private readonly right = new Float32Array(MOST_GATHERED);
  private readonly middle = new Float32Array(MOST_GATHERED);
  private readonly code = new Uint32Array(MOST_GATHERED);
  private readonly slice = new Float64Array(MOST_GATHERED);
  /** Ink of the paint; −1 = dimmed. */
  private readonly ink = new Int16Array(MOST_GATHERED);
  private readonly tables: NameTable[] = [];
  private readonly widths = new Uint32Array(WIDEST + 1);

  reset(): void {
    this.length = 0;
    this.tables.length = 0;
  }

  /**
   * A slice wide enough for a label; px of the canvas, in CSS px. The next part of the slice that
   * came last, in the next tile, makes it longer.
   */
  add(
    table: NameTable,
    code: number,
    slice: number,
    left: number,
    right: number,
    middle: number,
    ink: number,
  ): void {
    const last = this.length - 1;
    if (
      last >= 0 &&
      this.slice[last] === slice &&
      this.middle[last] === middle &&
      this.tables[last] === table
    ) {
      this.right[last] = right;
      return;
    }
    if (this.length === MOST_GATHERED) {
      return;
    }
    const at = this.length;
    this.left[at] = left;
    this.right[at] = right;
    this.middle[at] = middle;
    this.code[at] = code;
    this.slice[at] = slice;
    this.ink[at] = ink;
    this.tables[at] = table;
    this.length += 1;
  }

  /** The least width that at most `most` of them have. */
  private threshold(most: number): number {
    this.widths.fill(0);
    for (let i = 0; i < this.length; i += 1) {
      const width = (this.right[i] as number) - (this.left[i] as number);
      const place = Math.max(0, Math.min(WIDEST, Math.floor(width)));
      this.widths[place] = (this.widths[place] as number) + 1;
    }
    let sum = 0;
    for (let width = WIDEST; width >= LEAST_LABEL; width -= 1) {
      sum += this.widths[width] as number;
      if (sum > most) {
        return width + 1;
      }
    }
    return LEAST_LABEL;
  }

  /** Draws on a context whose unit is the device px. Returns how many it drew. */
  draw(
    context: CanvasRenderingContext2D,
    paint: Paint,
    advances: Advances,
    dpr: number,
    most: number,
  ): number {
    const least = this.threshold(most);
    context.textAlign = "left";
    context.textBaseline = "alphabetic";
    let drawn = 0;
    for (let ink = -1; ink < paint.inks.length; ink += 1) {
      context.fillStyle = ink < 0 ? paint.palette.inkFaint : (paint.inks[ink] as string);
      for (let i = 0; i < this.length; i += 1) {
        if (this.ink[i] === ink && (this.right[i] as number) - (this.left[i] as number) >= least) {
          drawn += this.drawOne(context, i, advances, dpr) ? 1 : 0;
        }
      }
    }
    return drawn;
  }

  private drawOne(
    context: CanvasRenderingContext2D,
    i: number,
    advances: Advances,
    dpr: number,
  ): boolean {
    const left = this.left[i] as number;
    const room = (this.right[i] as number) - left - 2 * PADDING;
    const text = (this.tables[i] as NameTable).fitting(this.code[i] as number, room, advances);
    if (text === "") {
      return false;
    }
    const x = Math.round((left + PADDING) * dpr);
    const y = Math.round(((this.middle[i] as number) + BASELINE) * dpr);
    context.fillText(text, x, y);
    return true;
  }
}

/** From the middle of a line of 11 px to its baseline. */
const BASELINE = 4;
