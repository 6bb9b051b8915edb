/** Small choices kept in the browser. A frame may forbid storage: then they last as long as the page. */

const memory = new Map<string, string>();
const PREFIX = "kinetoscope.";

export function recall(key: string): string | null {
  try {
    return window.localStorage.getItem(PREFIX + key);
  } catch {
    return memory.get(key) ?? null;
  }
}

export function remember(key: string, value: string): void {
  memory.set(key, value);
  try {
    window.localStorage.setItem(PREFIX + key, value);
  } catch {
    // Kept in memory above.
  }
}
