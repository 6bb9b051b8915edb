/** Everything the Trace view can do, with its keys: for the keyboard, the palette and the help. */
import type { Action } from "./keys";

interface Described {
  readonly action: Action;
  readonly title: string;
  readonly group: string;
  readonly keys: readonly string[];
  /** Not in the palette: it only makes sense as a key that is held. */
  readonly isHeld: boolean;
}

type Row = readonly [action: Action, title: string, ...keys: string[]];

const grouped = (group: string, rows: readonly Row[], isHeld = false): Described[] =>
  rows.map(([action, title, ...keys]) => ({ action, title, group, keys, isHeld }));

export const COMMANDS: readonly Described[] = [
  ...grouped(
    "Moving",
    [
      ["zoom-in", "Zoom in at the pointer (Shift: faster)", "W", "+"],
      ["zoom-out", "Zoom out", "S", "−"],
      ["left", "Move left (Shift: faster)", "A", "←"],
      ["right", "Move right", "D", "→"],
      ["scroll-down", "Scroll, when a slice is selected with Shift", "↑", "↓"],
    ],
    true,
  ),
  ...grouped("Moving", [
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
  ...grouped("Arranging and taking away", [
    ["pin", "Pin the track at the pointer", "P"],
    ["hide", "Hide it", "H"],
    ["collapse", "Fold it", "C"],
    ["expand", "Unfold it", "E"],
    ["panel", "Open or close the panel below", "Q"],
    ["copy", "Copy the name of the selection", "Ctrl C"],
    ["png", "Save the view as a picture", "Ctrl Shift S"],
    ["palette", "All commands", "Ctrl Shift P"],
  ]),
];
