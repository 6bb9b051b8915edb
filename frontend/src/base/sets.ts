/** Sets that do not change: another one takes their place. */

export function toggled<T>(set: ReadonlySet<T>, item: T, isIn: boolean): ReadonlySet<T> {
  const next = new Set(set);
  if (isIn) {
    next.add(item);
  } else {
    next.delete(item);
  }
  return next;
}
