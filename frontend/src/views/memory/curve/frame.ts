/** Where the curve is drawn: its scales, its ticks, and what lies at a place. */
import type { MemoryCurve, StepMark } from "../../../api/types.gen";
import { axisNumber, fixed, NBSP } from "../../../base/text/format";
import { roundTicks } from "../../../base/text/ticks";
import { BYTE_UNITS, TIME_UNITS, unitFor } from "../../../base/text/units";
import type { TimeRange } from "../choice";

export interface CurveFrame {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
  readonly start: number;
  readonly end: number;
  readonly low: number;
  readonly high: number;
}

export const MARGIN = { left: 58, right: 10, top: 22, bottom: 22 } as const;

/** A capacity that is further up would leave the curve no room: it is said in words. */
const CAPACITY_REACH = 2;
const ROOM_ABOVE = 1.04;

/** Least and most bytes of the axis, and whether the capacity lies within. */
export function extentOf(curve: MemoryCurve, capacity: number | null) {
  const tops = [...curve.allocated, ...(curve.reserved ?? [])];
  const low = tops.reduce((least, value) => Math.min(least, value), 0);
  const top = tops.reduce((most, value) => Math.max(most, value), 0);
  const hasCapacity = capacity !== null && !curve.is_change && capacity <= top * CAPACITY_REACH;
  const high = Math.max(hasCapacity ? capacity : 0, top, low + 1);
  return { low, high: low + (high - low) * ROOM_ABOVE, hasCapacity };
}

export function frameOf(
  curve: MemoryCurve,
  { low, high }: { readonly low: number; readonly high: number },
  width: number,
  height: number,
): CurveFrame {
  return {
    left: MARGIN.left,
    right: Math.max(MARGIN.left + 1, width - MARGIN.right),
    top: MARGIN.top,
    bottom: height - MARGIN.bottom,
    start: curve.start_ns,
    end: Math.max(curve.end_ns, curve.start_ns + 1),
    low,
    high,
  };
}

export const xOf = ({ left, right, start, end }: CurveFrame, ts: number) =>
  left + ((ts - start) / (end - start)) * (right - left);

export const yOf = ({ top, bottom, low, high }: CurveFrame, value: number) =>
  bottom - ((value - low) / (high - low)) * (bottom - top);

/** The instant at a place, within the frame. */
export function instantAt({ left, right, start, end }: CurveFrame, x: number): number {
  const share = Math.max(0, Math.min(1, (x - left) / (right - left)));
  return Math.round(start + share * (end - start));
}

/** The last point at or before an instant; the first one before all of them. */
export function pointAt(ts: readonly number[], instant: number): number {
  let [low, high] = [0, ts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ts[middle] ?? 0) <= instant) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return Math.max(0, low - 1);
}

export interface Tick {
  readonly value: number;
  readonly text: string;
}

/** Multiples of a round step from `low` to `high`, in base units. */
function multiples(low: number, high: number, wanted: number, unit: number): number[] {
  const step = roundTicks((high - low) / unit, wanted)[1] ?? (high - low) / unit;
  if (!(step > 0)) {
    return [low];
  }
  const [first, last] = [
    Math.ceil(low / unit / step - 1e-9),
    Math.floor(high / unit / step + 1e-9),
  ];
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => (first + at) * step);
}

export function byteTicks({ low, high }: Pick<CurveFrame, "low" | "high">): readonly Tick[] {
  const unit = unitFor(Math.max(Math.abs(low), Math.abs(high)), BYTE_UNITS);
  return multiples(low, high, 4, unit.size).map((value) => ({
    value: value * unit.size,
    text: value === 0 ? "0" : axisNumber(value) + NBSP + unit.name,
  }));
}

/** Ticks of time; the first one says the unit. */
export function timeTicks({ start, end }: TimeRange, wanted: number): readonly Tick[] {
  const unit = unitFor(end, TIME_UNITS);
  const values = multiples(start, end, wanted, unit.size);
  const step = (values[1] ?? 1) - (values[0] ?? 0);
  const decimals = Math.max(0, Math.min(9, -Math.floor(Math.log10(step) + 1e-9)));
  return values.map((value, place) => ({
    value: value * unit.size,
    text: fixed(value, value === 0 ? 0 : decimals) + (place === 0 ? NBSP + unit.name : ""),
  }));
}

/** The range between two instants, whichever comes first, within the curve. */
export function rangeBetween(curve: TimeRange, a: number, b: number): TimeRange {
  const within = (ts: number) => Math.max(curve.start, Math.min(curve.end, Math.round(ts)));
  const [first, last] = [within(Math.min(a, b)), within(Math.max(a, b))];
  const start = last > first ? first : Math.max(curve.start, last - 1);
  return { start, end: Math.max(last, start + 1) };
}

/** An instant moved by a share of what is shown, within it. */
export function movedInstant({ start, end }: TimeRange, instant: number, share: number): number {
  return Math.round(Math.max(start, Math.min(end, instant + share * (end - start))));
}

/** The step that holds an instant. */
export const stepAt = (steps: readonly StepMark[], instant: number): StepMark | null =>
  steps.find(({ start_ns, end_ns }) => instant >= start_ns && instant < end_ns) ?? null;

/** "step 3", "steps 3–5": the steps that a range touches; "" for none. */
export function stepsOfRange(steps: readonly StepMark[], { start, end }: TimeRange): string {
  const touched = steps.filter(
    (step) => Math.min(step.end_ns, end) - Math.max(step.start_ns, start) > 0.01 * (end - start),
  );
  const [first, last] = [touched[0], touched.at(-1)];
  if (first === undefined || last === undefined) {
    return "";
  }
  return first === last ? `step ${first.number}` : `steps ${first.number}–${last.number}`;
}
