/** Rounding that keeps a shown sum true. */

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Below and above each part, so that those with the largest remainders go up. Whole numbers. */
function byLargestRemainder(scaled: readonly number[], target: number): number[] {
  const rounded = scaled.map((value) => Math.floor(value + 1e-9));
  let missing = target - sum(rounded);
  const places = scaled
    .map((value, place) => ({ place, remainder: value - (rounded[place] ?? 0) }))
    .sort((a, b) => b.remainder - a.remainder || a.place - b.place);
  for (const { place } of places) {
    if (missing <= 0) {
      break;
    }
    rounded[place] = (rounded[place] ?? 0) + 1;
    missing -= 1;
  }
  return rounded;
}

/** Each part to the nearest, and one part, by its place, gives or takes a unit or two. */
function bySlack(scaled: readonly number[], target: number, slack: number): number[] | null {
  const rounded = scaled.map(Math.round);
  const missing = target - sum(rounded);
  if (missing === 0) {
    return rounded;
  }
  const taken = (rounded[slack] ?? 0) + missing;
  if (slack < 0 || Math.abs(missing) > 2 || taken < 1) {
    return null;
  }
  rounded[slack] = taken;
  return rounded;
}

/**
 * Rounds the parts to multiples of `quantum` so that they add up to `whole`, rounded likewise.
 *
 * Where each to its nearest does not add up, the part at the place `slack` gives way, if there is
 * one: what is unattributed is a remainder anyway, and the named parts stay what other places on
 * the page say of them. Else the parts with the largest remainders go up and the others down.
 * A part that is not negative never becomes so.
 */
export function roundToSum(
  parts: readonly number[],
  quantum: number,
  { whole = sum(parts), slack = -1 }: { whole?: number; slack?: number } = {},
): number[] {
  const scaled = parts.map((part) => part / quantum);
  const target = Math.round(whole / quantum);
  const rounded = bySlack(scaled, target, slack) ?? byLargestRemainder(scaled, target);
  return rounded.map((value) => value * quantum);
}
