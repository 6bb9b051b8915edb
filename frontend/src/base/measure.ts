/** Widths: of texts before they are drawn, and of elements as they change. */
import { type RefObject, useLayoutEffect, useRef, useState } from "react";

let context: CanvasRenderingContext2D | null | undefined;

/** Width of a text in px; an estimate where nothing can be measured. */
export function textWidth(text: string, font: string): number {
  if (context === undefined) {
    context = document.createElement("canvas").getContext("2d");
  }
  if (context === null) {
    return text.length * 6.5;
  }
  context.font = font;
  return context.measureText(text).width;
}

/** The width of an element, renewed when it changes; 0 while it is hidden or not there. */
export function useWidth<T extends HTMLElement>(): [RefObject<T | null>, number] {
  const element = useRef<T>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const target = element.current;
    if (target === null) {
      return;
    }
    setWidth(target.clientWidth);
    const observer = new ResizeObserver(() => setWidth(target.clientWidth));
    observer.observe(target);
    return () => observer.disconnect();
  }, []);
  return [element, width];
}
