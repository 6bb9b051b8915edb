/**
 * How numbers are written. Every number on the page goes through here.
 *
 * Times come in as nanoseconds, sizes as bytes, shares as ratios. The space before a unit does not
 * break. What is not known is an en dash; a zero is a zero.
 */
import { BYTE_UNITS, TIME_UNITS, type Unit, unitFor } from "./units";

export const NBSP = "\u00a0";
export const MINUS = "\u2212";
export const DASH = "–";

const grouped = new Map<number, Intl.NumberFormat>();

/** `1234.5` with two decimals → `1,234.50`. */
export function fixed(value: number, decimals: number): string {
  let format = grouped.get(decimals);
  if (format === undefined) {
    format = new Intl.NumberFormat("en-US", {
      minimumFractionDigits: decimals,
      maximumFractionDigits: decimals,
    });
    grouped.set(decimals, format);
  }
  const text = format.format(Math.abs(value));
  const isNegative = value < 0 && /[1-9]/.test(text);
  return isNegative ? MINUS + text : text;
}

/** As `fixed`, but what is there and less than the last decimal is not 0: `< 0.01`. */
export function notZero(value: number, decimals: number): string {
  const least = 10 ** -decimals;
  return value > 0 && value < least / 2
    ? `<${NBSP}${fixed(least, decimals)}`
    : fixed(value, decimals);
}

/** How many decimals leave three significant digits. */
function decimalsFor(value: number): number {
  const magnitude = Math.abs(value);
  if (magnitude < 9.995) {
    return 2;
  }
  return magnitude < 99.95 ? 1 : 0;
}

function inUnits(value: number, units: readonly [Unit, ...Unit[]]): string {
  // 999.6 µs has three digits only as 1.00 ms; whole bytes have up to four.
  const most = (unit: Unit) => (unit.name === "B" ? 1024 : 999.5 * unit.size);
  const unit = units.find((one) => Math.abs(value) < most(one)) ?? units[units.length - 1];
  const { name, size } = unit ?? units[0];
  const isWhole = name === "B" || (name === "ns" && Number.isInteger(value));
  return fixed(value / size, isWhole ? 0 : decimalsFor(value / size)) + NBSP + name;
}

/** A time in prose: three significant digits, `840 ns`, `59.3 ms`, `2 m 14 s`. */
export function time(ns: number): string {
  if (ns === 0) {
    return "0";
  }
  if (Math.abs(ns) < 119.5e9) {
    return inUnits(ns, TIME_UNITS);
  }
  const seconds = Math.round(Math.abs(ns) / 1e9);
  const sign = ns < 0 ? MINUS : "";
  if (seconds < 3600) {
    return `${sign}${Math.floor(seconds / 60)}${NBSP}m${NBSP}${seconds % 60}${NBSP}s`;
  }
  const minutes = Math.round(seconds / 60);
  return `${sign}${fixed(Math.floor(minutes / 60), 0)}${NBSP}h${NBSP}${minutes % 60}${NBSP}m`;
}

/** One unit and one number of decimals for values that are read together. */
export interface Scale {
  readonly unit: Unit;
  readonly decimals: number;
}

/**
 * The scale of a column or chart whose largest value (or whole) is given, in ns.
 *
 * Seconds only from ten on: the parts of a step of one second are milliseconds.
 */
export function timeScale(largestNs: number): Scale {
  const magnitude = Math.abs(largestNs);
  const unit = unitFor(magnitude < 10e9 ? Math.min(magnitude, 999e6) : magnitude, TIME_UNITS);
  const whole = Math.abs(largestNs) / unit.size;
  const decimals = unit.size === 1 ? 0 : whole < 10 ? 3 : whole < 100 ? 2 : 1;
  return { unit, decimals };
}

/** A round number, as an axis shows it: as many decimals as it has, three at most. */
export function axisNumber(value: number): string {
  const text = fixed(value, 3);
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** A time in a scale, without its unit: `98.6`. */
export function inScale(ns: number, scale: Scale): string {
  return notZero(ns / scale.unit.size, scale.decimals);
}

/** As `inScale`, where a time of none stands among others: `0`, which nothing was rounded to. */
export function inScaleOrZero(ns: number, scale: Scale): string {
  return ns === 0 ? "0" : inScale(ns, scale);
}

/** A time in a scale, with its unit: `98.6 ms`. */
export function withUnit(ns: number, scale: Scale): string {
  return inScale(ns, scale) + NBSP + scale.unit.name;
}

/** A whole number of base units, for proofs: `177,592 µs`, in ns where µs would not be exact. */
export function exactTime(ns: number): string {
  return ns % 1000 === 0
    ? `${fixed(ns / 1000, 0)}${NBSP}µs`
    : `${fixed(ns, Number.isInteger(ns) ? 0 : 1)}${NBSP}ns`;
}

/** Binary units, named so: `98.0 MiB`. */
export function bytes(count: number): string {
  return inUnits(count, BYTE_UNITS);
}

/** A share of a whole: `33.4 %`; what would round to nothing is `< 0.1 %`. */
export function share(ratio: number, decimals = 1): string {
  if (ratio === 0) {
    return `0${NBSP}%`;
  }
  const smallest = 10 ** -decimals;
  if (Math.abs(ratio * 100) < smallest / 2) {
    const least = fixed(Math.sign(ratio) * smallest, decimals);
    return `${ratio < 0 ? ">" : "<"}${NBSP}${least}${NBSP}%`;
  }
  return `${fixed(ratio * 100, decimals)}${NBSP}%`;
}

/** Grouped, and exact below a million: `2,994`, `9.10 M`. */
export function count(value: number): string {
  if (Math.abs(value) < 1e6) {
    return fixed(value, 0);
  }
  const scaled = value / (Math.abs(value) < 999.5e6 ? 1e6 : 1e9);
  return `${fixed(scaled, decimalsFor(scaled))}${NBSP}${Math.abs(value) < 999.5e6 ? "M" : "G"}`;
}

/** `1 file`, `7 files`. */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)}${NBSP}${value === 1 ? one : many}`;
}

/** `1.19×`, `12×`. */
export function times(ratio: number): string {
  return `${fixed(ratio, ratio >= 0.1 && ratio < 9.995 ? 2 : 0)}×`;
}

/** A change with arrow, sign and size: `▼ −36.5 ms`. */
export function change(ns: number): string {
  // A remainder of sums, far below what clocks tell, is no change.
  if (Math.abs(ns) < 0.005) {
    return "0";
  }
  return ns < 0 ? `▼${NBSP}${MINUS}${time(-ns)}` : `▲${NBSP}+${time(ns)}`;
}

/** A span of time that is only roughly known: `9 s`, `3 min`, `2 h`, `5 days`. */
export function roughly(seconds: number): string {
  if (seconds < 100) {
    return `${fixed(seconds, 0)}${NBSP}s`;
  }
  if (seconds < 100 * 60) {
    return `${fixed(seconds / 60, 0)}${NBSP}min`;
  }
  return seconds < 48 * 3600
    ? `${fixed(seconds / 3600, 0)}${NBSP}h`
    : `${fixed(seconds / 86400, 0)}${NBSP}days`;
}

/** How long ago, coarsely: `just now`, `4 s ago`, `3 h ago`. */
export function ago(seconds: number): string {
  return seconds < 1.5 ? "just now" : `${roughly(seconds)} ago`;
}

const two = (part: number) => String(part).padStart(2, "0");

/** `2024-05-01`, in the reader's time zone. */
export const day = (date: Date): string =>
  [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join("-");

/** `12:03:41`, in the reader's time zone. */
export const clock = (date: Date): string =>
  [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":");

/** A moment as the reader's own clock shows it, down to the second. */
export function moment(secondsSinceEpoch: number): string {
  const date = new Date(secondsSinceEpoch * 1000);
  return `${day(date)} ${clock(date)}`;
}

/** A value of a series, in the unit that it comes with. */
export function inUnit(value: number, unit: string): string {
  switch (unit) {
    case "bytes":
      return bytes(value);
    case "ratio":
      return share(value);
    case "ns":
      return time(value);
    default: {
      const isCount = Number.isInteger(value) || Math.abs(value) >= 1e6;
      const text = isCount ? count(value) : fixed(value, 2);
      return unit === "" || unit === "count" ? text : text + NBSP + unit;
    }
  }
}

/** FLOPs in the unit that people say: 2.1 TFLOP. */
export function flops(value: number): string {
  for (const [unit, size] of [
    ["P", 1e15],
    ["T", 1e12],
    ["G", 1e9],
    ["M", 1e6],
  ] as const) {
    if (value >= size) {
      return `${(value / size).toPrecision(3)} ${unit}FLOP`;
    }
  }
  return `${count(value)} FLOP`;
}
