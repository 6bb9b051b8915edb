/** Keys that move through a list. */

/**
 * Where a key leads in a list: one back, one forward, to an end, with `page` a page of so many; null for
 * any other key.
 */
export function walked(
  key: string,
  at: number,
  count: number,
  [back, forward]: readonly [string, string],
  page = 0,
): number | null {
  const by = (rows: number) => Math.max(0, Math.min(at + rows, count - 1));
  switch (key) {
    case back:
      return by(-1);
    case forward:
      return by(1);
    case "PageUp":
      return page === 0 ? null : by(-page);
    case "PageDown":
      return page === 0 ? null : by(page);
    case "Home":
      return 0;
    case "End":
      return count - 1;
    default:
      return null;
  }
}
