import { useEffect, useMemo, useRef } from "react";
import { copyText } from "../../../base/clipboard";
import { type Command, useRegisterCommands } from "../../../state/commands";
import { chords, isTyping } from "../../../state/keys";
import { usePage } from "../../../state/page_context";
import type { Move } from "../../../timeline/contract";
import { useExport } from "../export/use_export";
import type { RowInfo } from "../tracks/rows";
import { keptNote, markOf } from "./actions";
import type { Unit } from "./address";
import { type TimelineContext, useTimelineContext } from "./context";

/** Which key does what in the Trace view. Letters are those printed on the key, except W A S D. */

/** Everything a key can ask for. */
type Action = keyof typeof RUNS | "palette" | "png" | "clear";

/** The parts of a keyboard event that matter. */
export type Press = Pick<
  KeyboardEvent,
  "key" | "code" | "shiftKey" | "ctrlKey" | "metaKey" | "altKey"
>;

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
  u: "streams",
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

/** Everything the Trace view can do, with its keys: for the keyboard, the palette and the help. */

interface Described {
  readonly action: Action;
  readonly title: string;
  readonly group: string;
  readonly keys: readonly string[];
}

type Row = readonly [action: Action, title: string, ...keys: string[]];

const grouped = (group: string, rows: readonly Row[]): Described[] =>
  rows.map(([action, title, ...keys]) => ({ action, title, group, keys }));

export const COMMANDS: readonly Described[] = [
  ...grouped("Moving", [
    ["zoom-in", "Zoom in at the pointer (Shift: faster)", "W", "+"],
    ["zoom-out", "Zoom out", "S", "−"],
    ["left", "Move left (Shift: faster)", "A", "←"],
    ["right", "Move right", "D", "→"],
    ["scroll-down", "Scroll (with Shift when a slice is selected)", "↑", "↓"],
    ["whole", "Show the whole trace", "0", "Home"],
    ["mode-select", "Pointer: select", "1"],
    ["mode-pan", "Pointer: pan (or drag with Shift, Space or the middle button)", "2"],
    ["mode-zoom", "Pointer: zoom", "3"],
    ["mode-measure", "Pointer: measure", "4"],
    ["unit", "Count from the step, the start, or by wall clock", "T"],
  ]),
  ...grouped("Selecting and following", [
    ["reveal", "Go to the selection; again: fit it", "F"],
    ["zoom-to", "Zoom to the selection (or press it twice)", "Enter"],
    ["next", "Next slice of the lane", "."],
    ["previous", "Previous slice of the lane", ","],
    ["up", "Slice around the selection", "↑"],
    ["down", "Slice inside the selection", "↓"],
    ["row-next", "First slice in view of the next track", "Page Down"],
    ["row-previous", "First slice in view of the track before", "Page Up"],
    ["flow-next", "Follow the arrow: launch → kernel, forward → backward", "]"],
    ["flow-previous", "Follow the arrow back", "["],
    ["same-next", "Next slice of the same name", "N"],
    ["same-previous", "Previous slice of the same name", "Shift N"],
    ["area-of-selection", "Make the selection an area", "R"],
    ["clear", "Clear the innermost: measure, area, selection, focus, search", "Esc"],
  ]),
  ...grouped("Finding and marking", [
    ["search", "Search all names", "/", "Ctrl F"],
    ["hit-next", "Next hit, in the search", "Enter"],
    ["hit-previous", "Previous hit, in the search", "Shift Enter"],
    ["mark", "Mark the selection or area for a moment", "M"],
    ["mark-keep", "Keep a note there", "Shift M"],
  ]),
  ...grouped("Arranging and saving", [
    ["pin", "Pin the track at the pointer", "P"],
    ["hide", "Hide it", "H"],
    ["collapse", "Fold it", "C"],
    ["expand", "Unfold it", "E"],
    ["streams", "Fold the streams of replayed graphs, or show each", "U"],
    ["panel", "Open or close the panel below", "Q"],
    ["copy", "Copy the name of the selection", "Ctrl C"],
    ["png", "Save the view as a picture", "Ctrl Shift S"],
    ["palette", "All commands", "Ctrl Shift P"],
  ]),
];

/** Keys of the Trace view, and its commands for the palette and the list of keys. */

/** Held keys move until they are let go. */
const MOVES: Partial<Readonly<Record<Action, Move>>> = {
  "zoom-in": "in",
  "zoom-out": "out",
  left: "left",
  right: "right",
  "scroll-up": "up",
  "scroll-down": "down",
};

const NEXT_UNIT: Readonly<Record<Unit, Unit>> = { step: "trace", trace: "wall", wall: "step" };

/** The track at the pointer or with the focus; else the one of the selection. */
function currentRow({ moving, model, selection }: TimelineContext): RowInfo | null {
  const hovered = moving.hover.get()?.hit?.row;
  const key = moving.row.get() || hovered;
  return (key === undefined ? undefined : model.infos.get(key)) ?? selection?.row ?? null;
}

/** Clears the innermost thing; false when nothing is left to clear. */
function cleared(timeline: TimelineContext): boolean {
  const { moving, link, change, engine, actions, selection } = timeline;
  const { arrangement } = link;
  if (moving.measured.get() !== null) {
    moving.measured.set(null);
    // The canvas forgets what it measured when the mode is set anew.
    engine?.setMode(link.mode);
    return true;
  }
  if (link.area !== null) {
    change({ area: null });
    return true;
  }
  if (moving.mark.get() !== null) {
    moving.mark.set(null);
    return true;
  }
  if (selection !== null || link.select !== null) {
    actions.select(null);
    return true;
  }
  if (arrangement.focus.size > 0) {
    actions.arrange({ ...arrangement, focus: new Map() });
    return true;
  }
  if (link.find !== "") {
    change({ find: "", match: "text" });
    return true;
  }
  return false;
}

type Run = (timeline: TimelineContext) => void;

const onRow =
  (act: (timeline: TimelineContext, row: RowInfo) => void): Run =>
  (timeline) => {
    const row = currentRow(timeline);
    if (row === null) {
      timeline.moving.notice.set("Point at a track first, or select one of its slices");
    } else {
      act(timeline, row);
    }
  };

const copyName: Run = ({ selection, moving }) => {
  const name = selection?.details?.slice.name;
  if (name !== undefined) {
    copyText(name).then((done) =>
      moving.notice.set(done ? "Name copied" : "Copying is not allowed here"),
    );
  }
};

const hasMarkedText = () => (window.getSelection()?.toString() ?? "") !== "";

/** What needs nothing but the timeline. What a held key does smoothly, the palette does in one step. */
const RUNS = {
  "zoom-in": ({ engine }) => engine?.zoom(2),
  "zoom-out": ({ engine }) => engine?.zoom(0.5),
  left: ({ engine }) => engine?.pan(-0.25),
  right: ({ engine }) => engine?.pan(0.25),
  "scroll-up": ({ engine }) => engine?.scroll(-120),
  "scroll-down": ({ engine }) => engine?.scroll(120),
  "mode-select": ({ change }) => change({ mode: "select" }),
  "mode-pan": ({ change }) => change({ mode: "pan" }),
  "mode-zoom": ({ change }) => change({ mode: "zoom" }),
  "mode-measure": ({ change }) => change({ mode: "measure" }),
  whole: ({ actions }) => actions.showWhole(),
  reveal: ({ actions }) => actions.reveal(),
  "zoom-to": ({ actions }) => actions.fitSelection(),
  next: ({ actions }) => actions.move("lane", true),
  previous: ({ actions }) => actions.move("lane", false),
  up: ({ actions }) => actions.move("parent", false),
  down: ({ actions }) => actions.move("child", true),
  "row-next": ({ actions }) => actions.rowStep(true),
  "row-previous": ({ actions }) => actions.rowStep(false),
  "flow-next": ({ actions }) => actions.move("flow", true),
  "flow-previous": ({ actions }) => actions.move("flow", false),
  "same-next": ({ actions }) => actions.move("name", true),
  "same-previous": ({ actions }) => actions.move("name", false),
  "area-of-selection": ({ actions }) => actions.areaOfSelection(),
  "hit-next": ({ actions }) => actions.hit(true),
  "hit-previous": ({ actions }) => actions.hit(false),
  unit: ({ link, change }) => change({ unit: NEXT_UNIT[link.unit] }),
  panel: ({ link, actions }) => actions.openTab(link.tab === null ? "summary" : null),
  streams: ({ sources, actions, moving }) => {
    if (sources.some(({ manifest }) => manifest.graph_streams > 0)) {
      actions.foldStreams(!sources.some(({ manifest }) => manifest.is_folded));
    } else {
      moving.notice.set("No replay of a graph was recorded");
    }
  },
  pin: onRow(({ actions }, row) => actions.pin(row)),
  hide: onRow(({ actions }, row) => actions.hide(row)),
  collapse: onRow(({ actions }, row) => actions.collapse(row, true)),
  expand: onRow(({ actions }, row) => actions.collapse(row, false)),
  mark: (timeline) => timeline.moving.mark.set(markOf(timeline)),
  "mark-keep": (timeline) => {
    timeline.change({ notes: [...timeline.link.notes, keptNote(timeline)], tab: "notes" });
  },
  search() {
    const field = document.querySelector<HTMLInputElement>("[data-filter]");
    field?.focus();
    field?.select();
  },
  copy: copyName,
} satisfies Readonly<Record<string, Run>>;

/** With a slice selected the vertical arrows walk through its nest, else they scroll. */
function resolved(action: Action, { link }: TimelineContext): Action {
  if (link.select === null && action === "up") {
    return "scroll-up";
  }
  return link.select === null && action === "down" ? "scroll-down" : action;
}

/** Enter and the arrows belong to the button or the list that has the focus. */
function isElsewhere(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || isTyping(event.target)) {
    return true;
  }
  if (document.querySelector("dialog[open]") !== null) {
    return true;
  }
  const { target, key } = event;
  const isControl =
    target instanceof Element &&
    target.closest("button, a, summary, [role=tab], [role=menu], [role=radiogroup]") !== null;
  return isControl && (key === "Enter" || key.startsWith("Arrow") || key.startsWith("Page"));
}

export function useViewKeys(): void {
  const timeline = useTimelineContext();
  const page = usePage();
  const { savePicture } = useExport();
  const latest = useRef({ timeline, page, savePicture });
  useEffect(() => {
    latest.current = { timeline, page, savePicture };
  });

  const run = useMemo(() => {
    const picture = () => {
      const { notice } = latest.current.timeline.moving;
      latest.current.savePicture().then(
        () => notice.set("Picture saved"),
        (error: unknown) => notice.set(String(error)),
      );
    };
    return (action: Action) => {
      const { timeline: now, page: shell } = latest.current;
      if (action === "palette") {
        shell.openPalette();
      } else if (action === "png") {
        picture();
      } else if (action === "clear") {
        cleared(now);
      } else {
        RUNS[action](now);
      }
    };
  }, []);

  useEffect(() => {
    const chord = chords();
    const held = new Map<string, Move>();
    /** What the press asks of this view; null when it is for somebody else. */
    const asked = (event: KeyboardEvent) => {
      // After "g", a letter opens another view.
      const isChord = chord(event.key.toLowerCase(), event.timeStamp).includes(" ");
      const bound = isChord || isElsewhere(event) ? null : boundTo(event);
      return bound?.action === "copy" && hasMarkedText() ? null : bound;
    };
    const onKeyDown = (event: KeyboardEvent) => {
      const bound = asked(event);
      const { timeline: now } = latest.current;
      // Esc with nothing to clear here is the page's.
      if (bound === null || (bound.action === "clear" && !cleared(now))) {
        return;
      }
      event.preventDefault();
      const action = resolved(bound.action, now);
      const move = MOVES[action];
      if (move !== undefined) {
        held.set(event.code, move);
        now.engine?.press(move, bound.isFast);
      } else if (action !== "clear") {
        run(action);
      }
    };
    const release = (code: string) => {
      const move = held.get(code);
      if (move !== undefined) {
        held.delete(code);
        latest.current.timeline.engine?.release(move);
      }
    };
    const onKeyUp = (event: KeyboardEvent) => release(event.code);
    const onBlur = () => {
      for (const code of [...held.keys()]) {
        release(code);
      }
    };
    // On the document: behind the widgets that the key may belong to, before the page's own keys.
    document.addEventListener("keydown", onKeyDown);
    document.addEventListener("keyup", onKeyUp);
    window.addEventListener("blur", onBlur);
    return () => {
      onBlur();
      document.removeEventListener("keydown", onKeyDown);
      document.removeEventListener("keyup", onKeyUp);
      window.removeEventListener("blur", onBlur);
    };
  }, [run]);

  const commands = useMemo(
    () =>
      COMMANDS.map(
        ({ action, title, group, keys }): Command => ({
          id: `timeline ${action}`,
          title,
          group,
          keys,
          run: () => run(action),
        }),
      ),
    [run],
  );
  useRegisterCommands(commands);
}
