/** Draws the ruler: ticks, the pill of an area, the place of the pointer. */
import { NBSP, time } from "../../base/format";
import type { Marker, TimelinePalette } from "../../timeline/contract";
import type { Range } from "./link";
import type { RulerModel } from "./ruler";

export interface RulerPicture {
  readonly model: RulerModel;
  readonly view: Range;
  readonly palette: TimelinePalette;
  readonly font: string;
  /** A chosen or dragged area, or what is measured. */
  readonly area: Range | null;
  /** Instant below the pointer. */
  readonly pointer: number | null;
  readonly inkOnAccent: string;
  readonly markers: readonly Marker[];
}

const LABEL_Y = 8;
const WIDEST = 120;

export function paintRuler(
  context: CanvasRenderingContext2D,
  width: number,
  height: number,
  picture: RulerPicture,
): void {
  const { model, view, palette, font } = picture;
  const scale = width / (view.end - view.start);
  const x = (at: number) => (at - view.start) * scale;
  context.font = font;
  context.textBaseline = "middle";
  for (const { at, label } of model.ticks) {
    const isMajor = label !== "";
    context.fillStyle = palette.hatch;
    context.fillRect(Math.round(x(at)), isMajor ? height - 9 : height - 5, 1, isMajor ? 9 : 5);
    // Only near the edge it takes measuring to tell whether a label fits.
    const room = width - x(at) - 3;
    if (isMajor && x(at) > -40 && (room > WIDEST || context.measureText(label).width <= room)) {
      context.fillStyle = palette.inkFaint;
      context.fillText(label, Math.round(x(at)) + 3, LABEL_Y);
    }
  }
  paintMarkers(context, width, height, picture, x);
  paintArea(context, width, height, picture, x);
  paintPointer(context, width, height, picture, x);
}

const FLAG_MOST = 180;
const FLAG_LEAST = 6;

/** A flag at each marker with its text, as far as the next marker leaves room. */
function paintMarkers(
  context: CanvasRenderingContext2D,
  width: number,
  height: number,
  { markers, palette }: RulerPicture,
  x: (at: number) => number,
): void {
  const flags = markers.map(({ at, text }) => ({ left: Math.round(x(at)), text }));
  flags.sort((one, other) => one.left - other.left);
  flags.forEach(({ left, text }, place) => {
    const room = (flags[place + 1]?.left ?? Number.POSITIVE_INFINITY) - left - 1;
    const wide = text === "" ? FLAG_LEAST : context.measureText(text).width + 9;
    const length = Math.max(FLAG_LEAST, Math.min(wide, room, FLAG_MOST));
    if (left > width || left + length < 0) {
      return;
    }
    context.fillStyle = palette.focus;
    context.fillRect(left, 0, 1, height);
    context.save();
    context.beginPath();
    context.roundRect(left, 1, length, 15, [0, 3, 3, 0]);
    context.fill();
    context.clip();
    context.fillStyle = palette.background;
    context.fillText(text, left + 4, 9.5);
    context.restore();
  });
}

function paintArea(
  context: CanvasRenderingContext2D,
  width: number,
  height: number,
  { area, palette, inkOnAccent }: RulerPicture,
  x: (at: number) => number,
): void {
  if (area === null) {
    return;
  }
  const [from, to] = [Math.max(0, x(area.start)), Math.min(width, x(area.end))];
  if (to < 0 || from > width) {
    return;
  }
  context.fillStyle = palette.accentSoft;
  context.fillRect(from, 0, to - from, height);
  context.fillStyle = palette.accent;
  context.fillRect(from, 0, 1, height);
  context.fillRect(to - 1, 0, 1, height);
  pill(context, time(area.end - area.start), (from + to) / 2, width, palette.accent, inkOnAccent);
}

function paintPointer(
  context: CanvasRenderingContext2D,
  width: number,
  height: number,
  { pointer, palette, view, model }: RulerPicture,
  x: (at: number) => number,
): void {
  if (pointer === null) {
    return;
  }
  const digits = precise(pointer - model.origin, (view.end - view.start) / width);
  context.fillStyle = palette.ink;
  context.fillRect(Math.round(x(pointer)), 0, 1, height);
  pill(context, digits, x(pointer), width, palette.ink, palette.background);
}

/** As many digits as the pointer can tell apart. */
function precise(ns: number, nsPerPx: number): string {
  const [size, unit] =
    Math.abs(ns) >= 1e9 ? [1e9, "s"] : Math.abs(ns) >= 1e6 ? [1e6, "ms"] : [1e3, "µs"];
  const decimals = Math.min(6, Math.max(1, Math.ceil(-Math.log10(nsPerPx / size))));
  return `${(ns / size).toFixed(decimals).replace("-", "−")}${NBSP}${unit}`;
}

function pill(
  context: CanvasRenderingContext2D,
  text: string,
  middle: number,
  width: number,
  fill: string,
  ink: string,
): void {
  const w = context.measureText(text).width + 12;
  const left = Math.min(Math.max(middle - w / 2, 0), Math.max(0, width - w));
  context.fillStyle = fill;
  context.beginPath();
  context.roundRect(left, 1, w, 16, 3);
  context.fill();
  context.fillStyle = ink;
  context.fillText(text, left + 6, 9.5);
}
