/** A chart, whose code is fetched when the first one is drawn. */
import { lazy, Suspense } from "react";
import type { ChartCanvasProps } from "./chart_canvas";

const ChartCanvas = lazy(() => import("./chart_canvas"));

interface ChartProps extends ChartCanvasProps {
  /** What the chart shows, in a sentence, for those who do not see it. */
  readonly label: string;
}

export function Chart({ label, ...canvas }: ChartProps) {
  return (
    <div role="img" aria-label={label}>
      <Suspense fallback={<div style={{ height: canvas.height }} />}>
        <ChartCanvas {...canvas} />
      </Suspense>
    </div>
  );
}
