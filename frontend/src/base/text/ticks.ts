/** Round places on an axis. */

/** Multiples of 1, 2 or 5 times a power of ten from 0 below `end`, about `wanted` of them. */
export function roundTicks(end: number, wanted: number): number[] {
  if (!(end > 0) || wanted < 1) {
    return [0];
  }
  const raw = end / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 5].find((factor) => factor * power >= raw * 0.999) ?? 10);
  const ticks: number[] = [];
  for (let i = 0; i * step < end * 0.999; i += 1) {
    ticks.push(i * step);
  }
  return ticks;
}
