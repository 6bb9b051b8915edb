/** Keys that move through a list. */

/** Where a key leads in a list: one back, one forward, to an end; null for any other key. */
export function walked(
  key: string,
  at: number,
  count: number,
  [back, forward]: readonly [string, string],
): number | null {
  switch (key) {
    case back:
      return Math.max(at - 1, 0);
    case forward:
      return Math.min(at + 1, count - 1);
    case "Home":
      return 0;
    case "End":
      return count - 1;
    default:
      return null;
  }
}
