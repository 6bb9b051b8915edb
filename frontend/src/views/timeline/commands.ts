/** Everything the Trace view can do, with its keys: for the keyboard, the palette and the help. */
import type { Action } from "./keys";

interface Described {
  readonly action: Action;
  readonly title: string;
  readonly group: string;
  readonly keys: readonly string[];
  /** Not in the palette: it only makes sense as a key that is held. */
  readonly isHeld?: boolean;
}

const MOVING = "Moving";
const SELECTING = "Selecting and following";
const FINDING = "Finding and marking";
const ARRANGING = "Arranging and taking away";

export const COMMANDS: readonly Described[] = [
  {
    action: "zoom-in",
    title: "Zoom in at the pointer (Shift: faster)",
    group: MOVING,
    keys: ["W", "+"],
    isHeld: true,
  },
  { action: "zoom-out", title: "Zoom out", group: MOVING, keys: ["S", "−"], isHeld: true },
  {
    action: "left",
    title: "Move left (Shift: faster)",
    group: MOVING,
    keys: ["A", "←"],
    isHeld: true,
  },
  { action: "right", title: "Move right", group: MOVING, keys: ["D", "→"], isHeld: true },
  {
    action: "scroll-down",
    title: "Scroll, when a slice is selected with Shift",
    group: MOVING,
    keys: ["↑", "↓"],
    isHeld: true,
  },
  { action: "whole", title: "Show the whole trace", group: MOVING, keys: ["0", "Home"] },
  { action: "mode-select", title: "Pointer: select", group: MOVING, keys: ["1"] },
  {
    action: "mode-pan",
    title: "Pointer: pan (or drag with Shift, Space or the middle button)",
    group: MOVING,
    keys: ["2"],
  },
  { action: "mode-zoom", title: "Pointer: zoom", group: MOVING, keys: ["3"] },
  { action: "mode-measure", title: "Pointer: measure", group: MOVING, keys: ["4"] },
  {
    action: "unit",
    title: "Count from the step, the start, or by wall clock",
    group: MOVING,
    keys: ["T"],
  },
  { action: "reveal", title: "Go to the selection; again: fit it", group: SELECTING, keys: ["F"] },
  {
    action: "zoom-to",
    title: "Zoom to the selection (or press it twice)",
    group: SELECTING,
    keys: ["Enter"],
  },
  { action: "next", title: "Next slice of the lane", group: SELECTING, keys: ["."] },
  { action: "previous", title: "Previous slice of the lane", group: SELECTING, keys: [","] },
  { action: "up", title: "Slice around the selection", group: SELECTING, keys: ["↑"] },
  { action: "down", title: "Slice inside the selection", group: SELECTING, keys: ["↓"] },
  {
    action: "row-next",
    title: "First slice in view of the next track",
    group: SELECTING,
    keys: ["Page Down"],
  },
  {
    action: "row-previous",
    title: "First slice in view of the track before",
    group: SELECTING,
    keys: ["Page Up"],
  },
  {
    action: "flow-next",
    title: "Follow the arrow: launch → kernel, forward → backward",
    group: SELECTING,
    keys: ["]"],
  },
  { action: "flow-previous", title: "Follow the arrow back", group: SELECTING, keys: ["["] },
  { action: "same-next", title: "Next slice of the same name", group: SELECTING, keys: ["N"] },
  {
    action: "same-previous",
    title: "Previous slice of the same name",
    group: SELECTING,
    keys: ["Shift N"],
  },
  {
    action: "area-of-selection",
    title: "Make the selection an area",
    group: SELECTING,
    keys: ["R"],
  },
  {
    action: "clear",
    title: "Clear the innermost: measure, area, selection, focus, search",
    group: SELECTING,
    keys: ["Esc"],
  },
  { action: "search", title: "Search all names", group: FINDING, keys: ["/", "Ctrl F"] },
  { action: "hit-next", title: "Next hit, in the search", group: FINDING, keys: ["Enter"] },
  {
    action: "hit-previous",
    title: "Previous hit, in the search",
    group: FINDING,
    keys: ["Shift Enter"],
  },
  { action: "mark", title: "Mark the selection or area for a moment", group: FINDING, keys: ["M"] },
  { action: "mark-keep", title: "Keep a note there", group: FINDING, keys: ["Shift M"] },
  { action: "pin", title: "Pin the track at the pointer", group: ARRANGING, keys: ["P"] },
  { action: "hide", title: "Hide it", group: ARRANGING, keys: ["H"] },
  { action: "collapse", title: "Fold it", group: ARRANGING, keys: ["C"] },
  { action: "expand", title: "Unfold it", group: ARRANGING, keys: ["E"] },
  { action: "panel", title: "Open or close the panel below", group: ARRANGING, keys: ["Q"] },
  { action: "copy", title: "Copy the name of the selection", group: ARRANGING, keys: ["Ctrl C"] },
  { action: "png", title: "Save the view as a picture", group: ARRANGING, keys: ["Ctrl Shift S"] },
  { action: "palette", title: "All commands", group: ARRANGING, keys: ["Ctrl Shift P"] },
];
