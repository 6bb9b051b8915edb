/** Which key does what in the Trace view. Letters are those printed on the key, except W A S D. */

/** Everything a key can ask for. */
export type Action =
  | "zoom-in"
  | "zoom-out"
  | "left"
  | "right"
  | "scroll-up"
  | "scroll-down"
  | "up"
  | "down"
  | "mode-select"
  | "mode-pan"
  | "mode-zoom"
  | "mode-measure"
  | "reveal"
  | "whole"
  | "next"
  | "previous"
  | "flow-next"
  | "flow-previous"
  | "same-next"
  | "same-previous"
  | "mark"
  | "mark-keep"
  | "area-of-selection"
  | "search"
  | "hit-next"
  | "hit-previous"
  | "pin"
  | "hide"
  | "collapse"
  | "expand"
  | "unit"
  | "palette"
  | "png"
  | "copy"
  | "zoom-to"
  | "row-next"
  | "row-previous"
  | "panel"
  | "clear";

/** The parts of a keyboard event that matter. */
export interface Press {
  readonly key: string;
  readonly code: string;
  readonly shiftKey: boolean;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
}

export interface Bound {
  readonly action: Action;
  /** Shift was held: the same, faster. */
  readonly isFast: boolean;
}

/** By place on the keyboard, wherever their letters are: the left hand's four keys. */
const PLACES: Readonly<Record<string, Action>> = {
  KeyW: "zoom-in",
  KeyS: "zoom-out",
  KeyA: "left",
  KeyD: "right",
};

/** Digits too: some layouts have them on Shift. */
const DIGITS: Readonly<Record<string, Action>> = {
  Digit1: "mode-select",
  Digit2: "mode-pan",
  Digit3: "mode-zoom",
  Digit4: "mode-measure",
  Digit0: "whole",
  Numpad1: "mode-select",
  Numpad2: "mode-pan",
  Numpad3: "mode-zoom",
  Numpad4: "mode-measure",
  Numpad0: "whole",
};

const PLAIN: Readonly<Record<string, Action>> = {
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
  PageUp: "row-previous",
  PageDown: "row-next",
  Home: "whole",
  "+": "zoom-in",
  "=": "zoom-in",
  "-": "zoom-out",
  f: "reveal",
  ".": "next",
  ",": "previous",
  "[": "flow-previous",
  "]": "flow-next",
  n: "same-next",
  m: "mark",
  r: "area-of-selection",
  p: "pin",
  h: "hide",
  c: "collapse",
  e: "expand",
  t: "unit",
  q: "panel",
  Enter: "zoom-to",
  "/": "search",
  Escape: "clear",
};

const SHIFTED: Readonly<Record<string, Action>> = {
  n: "same-previous",
  m: "mark-keep",
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "scroll-up",
  ArrowDown: "scroll-down",
  "+": "zoom-in",
  "/": "search",
};

const WITH_MOD: Readonly<Record<string, Action>> = { f: "search", c: "copy" };
const WITH_MOD_AND_SHIFT: Readonly<Record<string, Action>> = { p: "palette", s: "png" };

const FASTER = new Set<Action>(["zoom-in", "zoom-out", "left", "right"]);

function named(press: Press): Action | undefined {
  const key = press.key.length === 1 ? press.key.toLowerCase() : press.key;
  if (press.ctrlKey || press.metaKey) {
    return (press.shiftKey ? WITH_MOD_AND_SHIFT : WITH_MOD)[key];
  }
  const place = PLACES[press.code] ?? (press.shiftKey ? undefined : DIGITS[press.code]);
  // On some layouts a bracket or a slash needs Shift: what is printed counts, unless Shift means more.
  return place ?? (press.shiftKey ? (SHIFTED[key] ?? shiftedSign(key)) : PLAIN[key]);
}

const shiftedSign = (key: string) => (/^[a-z]$|^.{2,}$/.test(key) ? undefined : PLAIN[key]);

/** What a press asks for; null when it is nobody's here. */
export function boundTo(press: Press): Bound | null {
  if (press.altKey) {
    return null;
  }
  const action = named(press);
  if (action === undefined) {
    return null;
  }
  return { action, isFast: press.shiftKey && FASTER.has(action) };
}
