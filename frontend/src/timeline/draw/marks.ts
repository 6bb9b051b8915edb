/** What is drawn upon lanes beside pixels and labels: hatching, and markers of instants. */

const MOST_HATCHES = 512;
const MOST_INSTANTS = 2000;

/** Of a marker, in CSS px. */
export const INSTANT_SIZE = 7;

export class Marks {
  private hatches = 0;
  private instants = 0;
  private readonly hatch = new Float32Array(MOST_HATCHES * 4);
  private readonly instant = new Float64Array(MOST_INSTANTS * 4);

  reset(): void {
    this.hatches = 0;
    this.instants = 0;
  }

  /** From `left` to `right` in device px, `top` and `height` in CSS px. */
  addHatch(left: number, right: number, top: number, height: number): void {
    if (this.hatches < MOST_HATCHES) {
      this.hatch.set([left, right, top, height], this.hatches * 4);
      this.hatches += 1;
    }
  }

  addInstant(x: number, top: number, height: number, color: number): void {
    if (this.instants < MOST_INSTANTS) {
      this.instant.set([x, top, height, color], this.instants * 4);
      this.instants += 1;
    }
  }

  /** On a context whose unit is the device px. */
  draw(context: CanvasRenderingContext2D, hatch: CanvasPattern | string, dpr: number): void {
    context.fillStyle = hatch;
    for (let i = 0; i < this.hatches * 4; i += 4) {
      const left = this.hatch[i] as number;
      const top = Math.round((this.hatch[i + 2] as number) * dpr);
      const height = Math.round((this.hatch[i + 3] as number) * dpr);
      context.fillRect(left, top, (this.hatch[i + 1] as number) - left, height);
    }
    for (let i = 0; i < this.instants * 4; i += 4) {
      this.drawInstant(context, i, dpr);
    }
  }

  private drawInstant(context: CanvasRenderingContext2D, i: number, dpr: number): void {
    const x = this.instant[i] as number;
    const height = this.instant[i + 2] as number;
    const middle = ((this.instant[i + 1] as number) + height / 2) * dpr;
    const half = (Math.min(INSTANT_SIZE, height) / 2) * dpr;
    const color = this.instant[i + 3] as number;
    const [r, g, b] = [color & 255, (color >> 8) & 255, (color >> 16) & 255];
    context.fillStyle = `rgba(${r}, ${g}, ${b}, ${(color >>> 24) / 255})`;
    context.beginPath();
    context.moveTo(x, middle - half);
    context.lineTo(x + half, middle);
    context.lineTo(x, middle + half);
    context.lineTo(x - half, middle);
    context.fill();
  }
}
