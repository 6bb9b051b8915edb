/** How large a canvas may be: browsers show nothing of one that is larger. */

/** Device pixels of a side; Chrome and Firefox end at 32,767. */
const MOST_SIDE = 32_000;
/** Device pixels in all; Safari ends at 67 million. */
const MOST_AREA = 64e6;

/** Device pixels per CSS pixel of a canvas: `wanted`, or as many as it may have. */
export function canvasRatio(width: number, height: number, wanted: number): number {
  const side = Math.max(width, height, 1);
  const area = Math.max(width * height, 1);
  return Math.min(wanted, MOST_SIDE / side, Math.sqrt(MOST_AREA / area));
}
