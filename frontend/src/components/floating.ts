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

/** Beneath the anchor, or above it where only there is room; inside the window. */
function move(anchor: HTMLElement, body: HTMLElement): void {
  const at = anchor.getBoundingClientRect();
  const { offsetHeight: height, offsetWidth: width } = body;
  const below = window.innerHeight - at.bottom - GAP;
  const isAbove = height > below - MARGIN && at.top - GAP > below;
  const top = isAbove ? at.top - GAP - height : at.bottom + GAP;
  const left = Math.min(at.left, window.innerWidth - width - MARGIN);
  body.style.left = `${Math.max(MARGIN, left)}px`;
  body.style.top = `${Math.max(0, Math.min(top, window.innerHeight - height))}px`;
}

/** What is higher than the room beside its anchor goes to the window's edge, and the rest scrolls. */
function place(anchor: HTMLElement, body: HTMLElement): void {
  const at = anchor.getBoundingClientRect();
  const below = window.innerHeight - at.bottom - GAP;
  const above = at.top - GAP;
  const { scrollTop } = body;
  body.style.maxHeight = "none";
  const height = body.offsetHeight;
  const isAbove = height > below - MARGIN && above > below;
  const room = isAbove ? above : below;
  body.style.maxHeight = `${Math.max(LEAST, room)}px`;
  body.scrollTop = scrollTop;
  move(anchor, body);
}

/** Keeps the body beside its anchor for as long as it is open. Give the body `popover="manual"`. */
export function useFloating(
  open: boolean,
  anchor: RefObject<HTMLElement | null>,
  body: RefObject<HTMLElement | null>,
): void {
  useLayoutEffect(() => {
    const [from, floating] = [anchor.current, body.current];
    if (!open || from === null || floating === null) {
      return;
    }
    // Browsers without a top layer keep it where it is, above the page by its z-index.
    floating.showPopover?.();
    const settle = () => place(from, floating);
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
      move(from, floating);
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
  }, [open, anchor, body]);
}
