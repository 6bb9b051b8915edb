/** A small canvas that is drawn again whenever something it shows has moved, once per frame. */
import { type CanvasHTMLAttributes, useEffect, useRef } from "react";
import type { Cell } from "../../state/cell";

/** Draws in CSS px; the canvas is empty. */
export type Paint = (context: CanvasRenderingContext2D, width: number, height: number) => void;

interface LiveCanvasProps extends CanvasHTMLAttributes<HTMLCanvasElement> {
  readonly paint: Paint;
  readonly cells: readonly Cell<unknown>[];
}

function draw(canvas: HTMLCanvasElement, paint: Paint): void {
  const { clientWidth: width, clientHeight: height } = canvas;
  const ratio = window.devicePixelRatio || 1;
  const context = canvas.getContext("2d");
  if (context === null || width === 0 || height === 0) {
    return;
  }
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  paint(context, width, height);
}

export function LiveCanvas({ paint, cells, ...rest }: LiveCanvasProps) {
  const place = useRef<HTMLCanvasElement>(null);
  const latest = useRef(paint);
  const request = useRef(0);
  const ask = useRef(() => {
    if (request.current === 0) {
      request.current = requestAnimationFrame(() => {
        request.current = 0;
        if (place.current !== null) {
          draw(place.current, latest.current);
        }
      });
    }
  }).current;
  useEffect(() => {
    latest.current = paint;
    ask();
  }, [paint, ask]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the cells are those of the timeline, which stay
  useEffect(() => {
    const stops = cells.map((source) => source.subscribe(ask));
    const observer = new ResizeObserver(ask);
    if (place.current !== null) {
      observer.observe(place.current);
    }
    return () => {
      observer.disconnect();
      for (const stop of stops) {
        stop();
      }
      cancelAnimationFrame(request.current);
      request.current = 0;
    };
  }, [ask]);
  return <canvas ref={place} {...rest} />;
}
