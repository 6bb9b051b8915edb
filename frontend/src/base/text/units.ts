/** Scales of the units that the page prints, smallest first. */

export interface Unit {
  readonly name: string;
  /** How many base units (nanoseconds, bytes) one of it is. */
  readonly size: number;
}

export const TIME_UNITS: readonly [Unit, ...Unit[]] = [
  { name: "ns", size: 1 },
  { name: "µs", size: 1e3 },
  { name: "ms", size: 1e6 },
  { name: "s", size: 1e9 },
];

export const BYTE_UNITS: readonly [Unit, ...Unit[]] = [
  { name: "B", size: 1 },
  { name: "KiB", size: 2 ** 10 },
  { name: "MiB", size: 2 ** 20 },
  { name: "GiB", size: 2 ** 30 },
  { name: "TiB", size: 2 ** 40 },
  { name: "PiB", size: 2 ** 50 },
];

/** The largest unit in which the value is at least 1; the smallest for all below. */
export function unitFor(value: number, units: readonly [Unit, ...Unit[]]): Unit {
  const magnitude = Math.abs(value);
  return units.findLast((unit) => magnitude >= unit.size) ?? units[0];
}
