/** Round instants on the time axis: where the ruler has its labels and the grid its lines. */

/** At least so far apart, in CSS px. */
const LEAST_DISTANCE = 90;

export interface RulerTicks {
  /** Between neighbours, in ns: 1, 2 or 5 times a power of ten. */
  readonly step: number;
  /** Number of the first one: it is at `origin + first · step`. */
  readonly first: number;
  readonly count: number;
}

/** The round multiples from `origin` that lie within [start, start + width · nsPerPx]. */
export function rulerTicks(
  start: number,
  nsPerPx: number,
  width: number,
  origin: number,
): RulerTicks {
  const least = Math.max(nsPerPx * LEAST_DISTANCE, 1e-3);
  const power = 10 ** Math.floor(Math.log10(least));
  const factor = [1, 2, 5].find((each) => each * power >= least * (1 - 1e-9)) ?? 10;
  const step = factor * power;
  // The sum makes a zero of a negative zero.
  const first = Math.ceil((start - origin) / step) + 0;
  const last = Math.floor((start + width * nsPerPx - origin) / step);
  return { step, first, count: Math.max(0, last - first + 1) };
}
