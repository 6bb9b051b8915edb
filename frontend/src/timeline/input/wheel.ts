/** What a turn of the wheel, or two fingers on a touchpad, mean. */

export type WheelAct =
  | { readonly type: "zoom"; readonly factor: number }
  | { readonly type: "move"; readonly dx: number; readonly dy: number; readonly isCoarse: boolean };

const LINE_PX = 18;
/** A notch of a wheel is at least so many px; fingers send less at a time. */
const NOTCH_PX = 50;
const ZOOM_PER_PX_NOTCH = 0.0028;
const ZOOM_PER_PX_FINGER = 0.01;
const LARGEST_ZOOM = 0.7;

export type WheelTurn = Pick<
  WheelEvent,
  "deltaX" | "deltaY" | "deltaMode" | "ctrlKey" | "metaKey" | "shiftKey"
>;

export function wheelAct(turn: WheelTurn, pageHeight: number): WheelAct {
  const unit = turn.deltaMode === 0 ? 1 : turn.deltaMode === 1 ? LINE_PX : pageHeight;
  const dx = turn.deltaX * unit;
  const dy = turn.deltaY * unit;
  const isCoarse = Math.max(Math.abs(dx), Math.abs(dy)) >= NOTCH_PX;
  if (turn.ctrlKey || turn.metaKey) {
    const perPx = isCoarse ? ZOOM_PER_PX_NOTCH : ZOOM_PER_PX_FINGER;
    const power = Math.max(-LARGEST_ZOOM, Math.min(LARGEST_ZOOM, dy * perPx));
    return { type: "zoom", factor: Math.exp(power) };
  }
  if (turn.shiftKey) {
    // Some systems turn the delta themselves, some leave that to the page.
    return { type: "move", dx: dx === 0 ? dy : dx, dy: 0, isCoarse };
  }
  return { type: "move", dx, dy, isCoarse };
}
