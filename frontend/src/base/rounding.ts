/** Rounding that keeps a shown sum true. */

/**
 * Rounds the parts to multiples of `quantum` so that they add up to the rounded sum.
 *
 * Each result is the multiple just below or just above its part. Those with the largest remainders
 * go up; a part that is not negative never becomes so.
 */
export function roundToSum(parts: readonly number[], quantum: number): number[] {
  const scaled = parts.map((part) => part / quantum);
  const floors = scaled.map((value) => Math.floor(value + 1e-9));
  const target = Math.round(sum(scaled));
  let missing = target - sum(floors);
  const byRemainder = scaled
    .map((value, index) => ({ index, remainder: value - (floors[index] ?? 0) }))
    .sort((a, b) => b.remainder - a.remainder || a.index - b.index);
  for (const { index } of byRemainder) {
    if (missing <= 0) {
      break;
    }
    floors[index] = (floors[index] ?? 0) + 1;
    missing -= 1;
  }
  return floors.map((value) => value * quantum);
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
