/**
 * Lanes as rows of pixels, one row per lane, as wide as the canvas in device px.
 *
 * What is wide enough is put down with whole pixels; what is not is gathered per pixel column and
 * painted with an opacity of how much of the column is busy. The cost of a frame so depends on the
 * size of the canvas alone, and no slice falls between two pixels at any zoom.
 */

/** A column of twice the length that begins with the same values. */
function larger(column: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const next = new Int32Array(column.length * 2);
  next.set(column);
  return next;
}

/** A column in which anything happens is at least so opaque. */
const LEAST_ALPHA = 0.25;

export class Strip {
  width = 0;
  /** Rows in use. */
  rows = 0;
  /** 0xAABBGGRR, row by row, `width` each. */
  pixels = new Uint32Array(0);
  /** By row: the columns that were painted, [low, high). */
  low = new Int32Array(64);
  high = new Int32Array(64);

  /** Of the open row, by column: share that is busy, share in which there is anything at all. */
  private busy = new Float32Array(0);
  private present = new Float32Array(0);
  private heaviest = new Float32Array(0);
  private color = new Uint32Array(0);
  private begin = 0;
  private from = 0;
  private to = 0;
  private fineFrom = 0;
  private fineTo = 0;

  /** Begins a picture. */
  reset(width: number): void {
    this.rows = 0;
    if (width !== this.width) {
      this.width = width;
      this.pixels = new Uint32Array(width * this.low.length);
      this.busy = new Float32Array(width);
      this.present = new Float32Array(width);
      this.heaviest = new Float32Array(width);
      this.color = new Uint32Array(width);
    }
  }

  /** Opens the next row and says which it is. */
  openRow(): number {
    if (this.rows === this.low.length) {
      this.grow();
    }
    this.begin = this.rows * this.width;
    this.pixels.fill(0, this.begin, this.begin + this.width);
    this.from = this.fineFrom = this.width;
    this.to = this.fineTo = 0;
    this.rows += 1;
    return this.rows - 1;
  }

  /** The next rows, empty and for their whole width, to be written to directly. Says the first. */
  openRows(count: number): number {
    const first = this.rows;
    for (let i = 0; i < count; i += 1) {
      this.openRow();
      this.low[this.rows - 1] = 0;
      this.high[this.rows - 1] = this.width;
    }
    return first;
  }

  /** Whole columns [from, to). */
  solid(from: number, to: number, color: number): void {
    const first = Math.max(0, from);
    const end = Math.min(this.width, to);
    if (!(first < end)) {
      return;
    }
    this.pixels.fill(color, this.begin + first, this.begin + end);
    this.from = Math.min(this.from, first);
    this.to = Math.max(this.to, end);
  }

  /** Columns from `a` to `b`, in px with fractions, of which the share `busy` is busy. */
  fine(a: number, b: number, busy: number, color: number): void {
    const left = a < 0 ? 0 : a;
    const right = b > this.width ? this.width : b;
    if (!(left < right)) {
      return;
    }
    const first = Math.floor(left);
    const last = Math.ceil(right) - 1;
    if (first === last) {
      this.gather(first, right - left, busy, color);
    } else {
      this.gather(first, first + 1 - left, busy, color);
      for (let column = first + 1; column < last; column += 1) {
        this.gather(column, 1, busy, color);
      }
      this.gather(last, right - last, busy, color);
    }
    if (first < this.fineFrom) {
      this.fineFrom = first;
    }
    if (last >= this.fineTo) {
      this.fineTo = last + 1;
    }
  }

  /** A share of one column. */
  private gather(column: number, share: number, busy: number, color: number): void {
    this.present[column] = (this.present[column] as number) + share;
    this.busy[column] = (this.busy[column] as number) + share * busy;
    // What is there for nothing still counts a little: a column of instants has their colour.
    const weight = share * (busy + 0.01);
    if (weight > (this.heaviest[column] as number)) {
      this.heaviest[column] = weight;
      this.color[column] = color;
    }
  }

  /** Paints what was gathered where nothing solid is, and keeps the painted range. */
  closeRow(): void {
    for (let column = this.fineFrom; column < this.fineTo; column += 1) {
      const present = this.present[column] as number;
      if (present > 0) {
        const place = this.begin + column;
        if (this.pixels[place] === 0) {
          // A sliver of a column does not get the least opacity of a whole one.
          const least = LEAST_ALPHA * Math.min(1, 2 * present);
          const share = Math.max(least, Math.min(1, this.busy[column] as number));
          const color = this.color[column] as number;
          const alpha = Math.round((color >>> 24) * share);
          this.pixels[place] = ((alpha << 24) | (color & 0xffffff)) >>> 0;
        }
        this.present[column] = 0;
        this.busy[column] = 0;
        this.heaviest[column] = 0;
      }
    }
    this.low[this.rows - 1] = Math.min(this.from, this.fineFrom);
    this.high[this.rows - 1] = Math.max(this.to, this.fineTo);
  }

  private grow(): void {
    const capacity = this.low.length * 2;
    const pixels = new Uint32Array(this.width * capacity);
    pixels.set(this.pixels);
    this.pixels = pixels;
    this.low = larger(this.low);
    this.high = larger(this.high);
  }
}
