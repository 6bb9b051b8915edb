/**
 * Where something stands that floats over the page: beside its anchor, inside the window.
 *
 * It lies in the browser's top layer, so that nothing clips it and no moved parent shifts it, and it
 * is placed anew whenever its content or its anchor moves: what comes late may be larger.
 */
import { type RefObject, useLayoutEffect } from "react";

const MARGIN = 8;
const GAP = 4;
/** Less room than this is no use: rather over the edge of the anchor. */
const LEAST = 160;

type Side = "below" | "above";

/** Which side of the anchor: the one that is wished for, or the other where only there is room. */
function sideOf(anchor: DOMRect, height: number, wished: Side) {
  const below = window.innerHeight - anchor.bottom - GAP;
  const above = anchor.top - GAP;
  const [first, second] = wished === "below" ? [below, above] : [above, below];
  const isOther = height > first - MARGIN && second > first;
  return { isAbove: (wished === "above") !== isOther, room: isOther ? second : first };
}

/** Beside the anchor, inside the window. */
function move(anchor: HTMLElement, body: HTMLElement, wished: Side): void {
  const at = anchor.getBoundingClientRect();
  const { offsetHeight: height, offsetWidth: width } = body;
  const { isAbove } = sideOf(at, height, wished);
  const top = isAbove ? at.top - GAP - height : at.bottom + GAP;
  const left = Math.min(at.left, window.innerWidth - width - MARGIN);
  body.style.left = `${Math.max(MARGIN, left)}px`;
  body.style.top = `${Math.max(0, Math.min(top, window.innerHeight - height))}px`;
}

/** What is higher than the room beside its anchor goes to the window's edge, and the rest scrolls. */
function place(anchor: HTMLElement, body: HTMLElement, wished: Side): void {
  const { scrollTop } = body;
  body.style.maxHeight = "none";
  const { room } = sideOf(anchor.getBoundingClientRect(), body.offsetHeight, wished);
  body.style.maxHeight = `${Math.max(LEAST, room)}px`;
  body.scrollTop = scrollTop;
  move(anchor, body, wished);
}

/** Keeps the body beside its anchor for as long as it is open. Give the body `popover="manual"`. */
export function useFloating(
  open: boolean,
  anchor: RefObject<HTMLElement | null>,
  body: RefObject<HTMLElement | null>,
  wished: Side = "below",
): void {
  useLayoutEffect(() => {
    const [from, floating] = [anchor.current, body.current];
    if (!open || from === null || floating === null) {
      return;
    }
    // Browsers without a top layer keep it where it is, above the page by its z-index.
    floating.showPopover?.();
    const settle = () => place(from, floating, wished);
    settle();
    let frame = 0;
    const later = () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(settle);
    };
    const onScroll = ({ target }: Event) => {
      if (!(target instanceof Node && floating.contains(target))) {
        later();
      }
    };
    const observer = new ResizeObserver(() => {
      move(from, floating, wished);
      // In the next frame: its size must not change while sizes are being observed.
      later();
    });
    observer.observe(floating);
    window.addEventListener("scroll", onScroll, true);
    return () => {
      cancelAnimationFrame(frame);
      observer.disconnect();
      window.removeEventListener("scroll", onScroll, true);
    };
  }, [open, anchor, body, wished]);
}
