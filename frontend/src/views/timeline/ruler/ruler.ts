import type { TimelineStepMark } from "../../../api/types.gen";
import { clock, day, fixed, NBSP, time } from "../../../base/text/format";
import { TIME_UNITS, type Unit as TimeUnit, unitFor } from "../../../base/text/units";
import type { Marker, TimelinePalette } from "../../../timeline/contract";
import { rulerTicks } from "../../../timeline/ruler";
import type { Range, Unit } from "../state/address";

/** Ticks of the ruler: where they stand and what they say, in each of the three units. */

export interface Tick {
  /** ns on the axis of the view. */
  readonly at: number;
  /** "" = a small tick without a word. */
  readonly label: string;
}

export interface RulerModel {
  /** What the numbers are, for the gutter: "ms since step 16". */
  readonly title: string;
  readonly ticks: readonly Tick[];
  /** An instant of which all labels are round multiples away: the canvas draws its grid from there. */
  readonly origin: number;
}

/** Where the numbers count from. */
export interface Origin {
  readonly at: number;
  /** "step 16"; "" = the start of the trace. */
  readonly name: string;
}

const MINOR_PX = 9;
const DECIMALS_MAX = 3;

/** From one label to the next: where the grid of the canvas has its lines. */
const distanceOf = (view: Range, nsPerPx: number): number =>
  rulerTicks(view.start, nsPerPx, (view.end - view.start) / nsPerPx, 0).step;

/** The smaller distance between labels that still parts them into round pieces. */
function minorOf(major: number, nsPerPx: number): number {
  const found = [10, 5, 2].find((parts) => {
    const minor = major / parts;
    return minor >= nsPerPx * MINOR_PX && Number.isInteger(Math.round(minor * 1e6) / 1e6);
  });
  return major / (found ?? 1);
}

/** "step 16" of "ProfilerStep#16"; else the name itself, cut. */
export function stepTitle({ name }: Pick<TimelineStepMark, "name">): string {
  const number = /^ProfilerStep#(\d+)$/.exec(name)?.[1];
  return number === undefined ? name.slice(0, 40) : `step ${number}`;
}

/** The step that a view is about: the first that begins in its first half, else the one at its left edge. */
export function originOf(steps: readonly TimelineStepMark[], view: Range, unit: Unit): Origin {
  if (unit === "trace") {
    return { at: 0, name: "" };
  }
  const middle = (view.start + view.end) / 2;
  const begins = steps.find((step) => step.ts >= view.start && step.ts <= middle);
  const around = steps.findLast((step) => step.ts <= middle && step.end > view.start);
  const step = begins ?? around;
  return step === undefined ? { at: 0, name: "" } : { at: step.ts, name: stepTitle(step) };
}

/** Multiples of a distance from an origin, within the view. */
function multiples({ start, end }: Range, origin: number, distance: number): readonly number[] {
  const first = Math.ceil((start - origin) / distance);
  const last = Math.floor((end - origin) / distance);
  const length = Math.max(0, Math.min(last - first + 1, 2000));
  return Array.from({ length }, (_, place) => first + place);
}

interface Spelling {
  readonly unit: TimeUnit;
  /** Told once instead of at each tick, in ns from the origin. */
  readonly base: number;
  readonly decimals: number;
}

/** The unit and the part that all labels share, so that no label is longer than six digits. */
function spellingOf(from: number, to: number, distance: number): Spelling {
  const largest = Math.max(Math.abs(from), Math.abs(to));
  const unit = unitFor(Math.min(largest, 999e9), TIME_UNITS);
  const decimals = decimalsOf(distance / unit.size);
  if (decimals <= DECIMALS_MAX) {
    return { unit, base: 0, decimals };
  }
  const small = unitFor(distance, TIME_UNITS);
  const block = small.size * 1000;
  return { unit: small, base: Math.floor(from / block) * block, decimals: 0 };
}

function decimalsOf(value: number): number {
  return Math.max(0, -Math.floor(Math.log10(value) + 1e-9));
}

function relativeRuler(view: Range, nsPerPx: number, origin: Origin): RulerModel {
  const distance = distanceOf(view, nsPerPx);
  const minor = minorOf(distance, nsPerPx);
  const parts = Math.round(distance / minor);
  const { unit, base, decimals } = spellingOf(
    view.start - origin.at,
    view.end - origin.at,
    distance,
  );
  const since = origin.name === "" ? "from the start" : `since ${origin.name}`;
  const plus = base === 0 ? "" : ` + ${time(base)}`;
  return {
    title: `${unit.name} ${since}${plus}`,
    origin: origin.at,
    ticks: multiples(view, origin.at, minor).map((multiple) => ({
      at: origin.at + multiple * minor,
      label: multiple % parts === 0 ? fixed((multiple * minor - base) / unit.size, decimals) : "",
    })),
  };
}

const dateOf = (epochNs: bigint) => new Date(Number(epochNs / 1_000_000n));

const SECOND = 1_000_000_000n;

/** Whole ns of a moment on the axis as wall clock. */
const epochAt = (baseNs: bigint, at: number): bigint => baseNs + BigInt(Math.round(at));

/** A moment of the trace as wall clock, to the ns: `2024-05-01 12:03:41.123 456 789`. */
export function wallText(epochNs: bigint): string {
  const fraction = String(((epochNs % SECOND) + SECOND) % SECOND).padStart(9, "0");
  const groups = fraction.replace(/(\d{3})(\d{3})(\d{3})/, `$1${NBSP}$2${NBSP}$3`);
  return `${day(dateOf(epochNs))} ${clock(dateOf(epochNs))}.${groups}`;
}

function wallRuler(view: Range, nsPerPx: number, baseNs: bigint): RulerModel {
  const distance = distanceOf(view, nsPerPx);
  const minor = minorOf(distance, nsPerPx);
  const parts = BigInt(Math.max(1, Math.round(distance / minor)));
  // Ticks stand at round seconds of the clock, which lie at odd places of the axis.
  const step = BigInt(Math.max(1, Math.round(minor)));
  const digits = distance >= 1e9 ? 0 : Math.min(9, 9 - Math.floor(Math.log10(distance) + 1e-9));
  const left = epochAt(baseNs, view.start);
  const first = left / step + (left % step === 0n ? 0n : 1n);
  const last = epochAt(baseNs, view.end) / step;
  const count = Math.max(0, Math.min(Number(last - first) + 1, 2000));
  const ticks = Array.from({ length: count }, (_, place) => {
    const multiple = first + BigInt(place);
    const at = multiple * step;
    const isMajor = multiple % parts === 0n;
    const fraction = String(at % SECOND)
      .padStart(9, "0")
      .slice(0, digits);
    const told = clock(dateOf(at));
    const label = digits === 0 ? told : `${told.slice(-2)}.${fraction}`;
    return { at: Number(at - baseNs), label: isMajor ? label : "" };
  });
  const shown = clock(dateOf(left)).slice(0, 5);
  // A full hour is a multiple of every distance that fits a screen.
  const origin = -Number(baseNs % (3600n * SECOND));
  return { title: digits === 0 ? day(dateOf(left)) : `seconds of ${shown}`, ticks, origin };
}

/** The wall clock of 0; null where the recording does not tell. */
export function wallClock(baseNs: string): bigint | null {
  try {
    const base = BigInt(baseNs);
    return base > 0n ? base : null;
  } catch {
    return null;
  }
}

export interface RulerQuestion {
  readonly view: Range;
  readonly nsPerPx: number;
  readonly unit: Unit;
  readonly steps: readonly TimelineStepMark[];
  readonly baseNs: string;
}

export function rulerModel({ view, nsPerPx, unit, steps, baseNs }: RulerQuestion): RulerModel {
  const base = unit === "wall" ? wallClock(baseNs) : null;
  return base === null
    ? relativeRuler(view, nsPerPx, originOf(steps, view, unit))
    : wallRuler(view, nsPerPx, base);
}

/** Draws the ruler: ticks, the pill of an area, the place of the pointer. */

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
