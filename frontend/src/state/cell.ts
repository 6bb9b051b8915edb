/** A value that changes too often for the address or for React state: the camera, what is hovered. */
import { useSyncExternalStore } from "react";

export interface Cell<T> {
  get(): T;
  set(value: T): void;
  subscribe(listener: () => void): () => void;
}

export function cell<T>(initial: T): Cell<T> {
  const listeners = new Set<() => void>();
  let value = initial;
  return {
    get: () => value,
    set(next) {
      if (Object.is(value, next)) {
        return;
      }
      value = next;
      for (const listener of listeners) {
        listener();
      }
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** The value as it is now; `pick` narrows it to what the component draws. */
export function useCell<T>(source: Cell<T>): T;
export function useCell<T, U>(source: Cell<T>, pick: (value: T) => U): U;
export function useCell<T, U>(source: Cell<T>, pick?: (value: T) => U): T | U {
  return useSyncExternalStore(source.subscribe, () =>
    pick === undefined ? source.get() : pick(source.get()),
  );
}
