/** One chart on a canvas. It waits while it has no size: TensorBoard hides frames by their height. */
import { useEffect, useRef } from "react";
import { readTheme, type Theme } from "../../base/style/theme";
import { useThemeName } from "../../state/host/environment";
import { type ChartOption, type EChartsType, init } from "./echarts";

export interface ChartCanvasProps {
  readonly height: number;
  /** What is drawn, in a place that is so many pixels wide. */
  readonly option: (theme: Theme, width: number) => ChartOption;
  /** A press anywhere above a category of the x axis. */
  readonly onColumn: (place: number) => void;
}

function columnAt(chart: EChartsType, x: number, y: number): number | null {
  if (!chart.containPixel("grid", [x, y])) {
    return null;
  }
  const place: unknown = chart.convertFromPixel({ xAxisIndex: 0 }, x);
  return typeof place === "number" ? Math.round(place) : null;
}

export default function ChartCanvas({ height, option, onColumn }: ChartCanvasProps) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<EChartsType | null>(null);
  const latest = useRef({ option, onColumn });
  const theme = useThemeName();

  useEffect(() => {
    latest.current = { option, onColumn };
    const width = place.current?.clientWidth ?? 0;
    chart.current?.setOption(option(readTheme(), width), { replaceMerge: ["series"] });
  });

  useEffect(() => {
    const element = place.current;
    if (element === null) {
      return;
    }
    const open = () => {
      const made = init(element, null, { renderer: "canvas" });
      chart.current = made;
      made.setOption(latest.current.option(readTheme(), element.clientWidth));
      made.getZr().on("click", ({ offsetX, offsetY }) => {
        const column = columnAt(made, offsetX, offsetY);
        if (column !== null) {
          latest.current.onColumn(column);
        }
      });
    };
    const fill = () => {
      if (element.clientWidth === 0 || element.clientHeight === 0) {
        return;
      }
      if (chart.current === null) {
        open();
      } else {
        chart.current.resize();
        const resized = latest.current.option(readTheme(), element.clientWidth);
        chart.current.setOption(resized, { replaceMerge: ["series"] });
      }
    };
    const observer = new ResizeObserver(fill);
    observer.observe(element);
    fill();
    return () => {
      observer.disconnect();
      chart.current?.dispose();
      chart.current = null;
    };
  }, []);

  return <div ref={place} style={{ height }} data-theme-drawn={theme} />;
}
