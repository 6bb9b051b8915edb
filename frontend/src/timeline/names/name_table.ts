/** The names of one source by code, as far as they were fetched, and what is derived from them. */

import type { Advances } from "../../base/text/advances";
import { hashText, type LabelForms, labelForms } from "../../base/text/label_forms";
import type { NameRange } from "../frame/names";

/** Names are fetched in ranges of so many codes. */
export const NAME_PAGE = 8192;

export class NameTable {
  /** By code; picks the lightness of a name's colour. 0 as long as the name is not known. */
  readonly hashes: Uint8Array;
  /** By code: 1 = bright. All of them while nothing is highlighted. */
  readonly isLit: Uint8Array;
  private readonly texts: (string | undefined)[];
  private readonly forms: (LabelForms | undefined)[];
  private readonly label: (string | undefined)[];
  private readonly labelRoom: Float32Array;
  private readonly pages: Set<number> = new Set();

  constructor(readonly count: number) {
    this.hashes = new Uint8Array(count);
    this.isLit = new Uint8Array(count).fill(1);
    this.texts = new Array<string | undefined>(count);
    this.forms = new Array<LabelForms | undefined>(count);
    this.label = new Array<string | undefined>(count);
    this.labelRoom = new Float32Array(count).fill(-1);
  }

  put({ first, texts }: NameRange): void {
    texts.forEach((text, i) => {
      const code = first + i;
      if (code < this.count) {
        this.texts[code] = text;
        this.hashes[code] = hashText(text) & 255;
      }
    });
    for (let code = first; code < first + texts.length; code += NAME_PAGE) {
      this.pages.add(Math.floor(code / NAME_PAGE));
    }
  }

  hasPage(page: number): boolean {
    return this.pages.has(page) || page * NAME_PAGE >= this.count;
  }

  text(code: number): string {
    return this.texts[code] ?? "";
  }

  /** What fits into `room` px; "" while the name is not known. Kept for the room asked for last. */
  fitting(code: number, room: number, advances: Advances): string {
    const text = this.texts[code];
    if (text === undefined) {
      return "";
    }
    const whole = Math.floor(room);
    let label = this.label[code];
    if (label === undefined || this.labelRoom[code] !== whole) {
      let forms = this.forms[code];
      if (forms === undefined) {
        forms = labelForms(text);
        this.forms[code] = forms;
      }
      label = advances.choose(forms, whole);
      this.label[code] = label;
      this.labelRoom[code] = whole;
    }
    return label;
  }

  /** The font changed. */
  forgetLabels(): void {
    this.labelRoom.fill(-1);
  }

  highlight(codes: ReadonlySet<number> | null): void {
    this.isLit.fill(codes === null ? 1 : 0);
    for (const code of codes ?? []) {
      if (code < this.count) {
        this.isLit[code] = 1;
      }
    }
  }
}
