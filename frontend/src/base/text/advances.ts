/** How wide texts are, without asking the canvas for each: advances of characters, measured once. */

export type MeasureText = (text: string) => number;

const ELLIPSIS = "…";
/** Fewer of a name say nothing. */
const LEAST_LETTERS = 3;

export class Advances {
  private readonly ascii = new Float64Array(128).fill(-1);
  private readonly others = new Map<string, number>();
  private readonly ellipsis: number;

  constructor(private readonly measure: MeasureText) {
    this.ellipsis = measure(ELLIPSIS);
  }

  private of(text: string, index: number): number {
    const code = text.charCodeAt(index);
    if (code < 128) {
      let width = this.ascii[code] as number;
      if (width < 0) {
        width = this.measure(text.charAt(index));
        this.ascii[code] = width;
      }
      return width;
    }
    const character = text.charAt(index);
    let width = this.others.get(character);
    if (width === undefined) {
      width = this.measure(character);
      this.others.set(character, width);
    }
    return width;
  }

  width(text: string): number {
    let sum = 0;
    for (let i = 0; i < text.length; i += 1) {
      sum += this.of(text, i);
    }
    return sum;
  }

  /** As much of the text as fits, with an ellipsis where it is cut; "" when nothing telling fits. */
  elide(text: string, room: number): string {
    let sum = 0;
    let cut = 0;
    for (let i = 0; i < text.length; i += 1) {
      sum += this.of(text, i);
      if (sum + this.ellipsis <= room) {
        cut = i + 1;
      }
      if (sum > room) {
        return cut < LEAST_LETTERS ? "" : whole(text.slice(0, cut)) + ELLIPSIS;
      }
    }
    return text;
  }

  /** The first form that fits whole; else the last one, elided. */
  choose(forms: readonly string[], room: number): string {
    for (const form of forms) {
      if (this.width(form) <= room) {
        return form;
      }
    }
    return this.elide(forms.at(-1) ?? "", room);
  }
}

/** Without the half of a character that a cut may have left, and without blanks. */
const whole = (text: string) => text.replace(/[\ud800-\udbff]$/, "").trimEnd();
