/** Keys of the page: single keys, and `g` followed by the letter of a view. */
import { useEffect, useRef } from "react";

export type KeyMap = Readonly<Record<string, () => void>>;

const CHORD_MS = 1500;

/** `k`, `?`, `Escape`, `mod+k`; null for keys that are nobody's here. */
export function keyName(event: KeyboardEvent): string | null {
  if (event.altKey || event.isComposing) {
    return null;
  }
  if (event.ctrlKey || event.metaKey) {
    return event.key.toLowerCase() === "k" && !event.shiftKey ? "mod+k" : null;
  }
  return event.key.length === 1 ? event.key.toLowerCase() : event.key;
}

/** Turns presses into names of chords: `g` waits for its second key. */
export function chords(): (name: string, now: number) => string {
  let pending: { name: string; at: number } | null = null;
  return (name, now) => {
    if (pending !== null && now - pending.at < CHORD_MS) {
      const chord = `${pending.name} ${name}`;
      pending = null;
      return chord;
    }
    pending = name === "g" ? { name, at: now } : null;
    return name;
  };
}

/** Whether keys typed here are text. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) {
    return false;
  }
  if (target instanceof HTMLInputElement) {
    return !["checkbox", "radio", "button"].includes(target.type);
  }
  return (
    target instanceof HTMLTextAreaElement ||
    target instanceof HTMLSelectElement ||
    target.isContentEditable
  );
}

function useKeysOn(target: EventTarget, keys: KeyMap): void {
  const latest = useRef(keys);
  useEffect(() => {
    latest.current = keys;
  });
  useEffect(() => {
    const chord = chords();
    const onKey = (event: Event) => {
      if (!(event instanceof KeyboardEvent)) {
        return;
      }
      const name = keyName(event);
      const isElsewhere = isTyping(event.target) || document.querySelector("dialog[open]") !== null;
      if (name === null || event.defaultPrevented || (isElsewhere && name !== "mod+k")) {
        return;
      }
      const action = latest.current[chord(name, event.timeStamp)];
      if (action !== undefined) {
        event.preventDefault();
        action();
      }
    };
    target.addEventListener("keydown", onKey);
    return () => target.removeEventListener("keydown", onKey);
  }, [target]);
}

/** Listens for keys. What a widget has handled, or is typed into a field or dialog, is not ours. */
export const useKeys = (keys: KeyMap): void => useKeysOn(window, keys);

/** Keys of the shown view: behind the widgets that they may belong to, before those of the page. */
export const useViewKeys = (keys: KeyMap): void => useKeysOn(document, keys);
