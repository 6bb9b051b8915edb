/** The stacked columns of "Every step" as an ECharts option. */
import type { StepRow } from "../../../api/types.gen";
import type { Theme } from "../../../base/style/theme";
import { axisNumber, fixed, type Scale, share, time, withUnit } from "../../../base/text/format";
import { fillClass } from "../../../components/charts/category";
import type {
  BarSeriesOption,
  ChartOption,
  LineSeriesOption,
} from "../../../components/charts/echarts";
import { decalOf } from "../decals";
import type { PartKind } from "../parts";
import { type StepParts, totalDigits } from "./step_parts";

const TOTALS_MAX = 24;
const COLUMNS_MAX = 80;
const FADED = 0.3;

interface StepChart {
  readonly parts: StepParts;
  readonly steps: readonly StepRow[];
  readonly scale: Scale;
  /** Key of the part that is singled out. */
  readonly active: string | null;
}

/** Columns, one for each step. */
function columnsOf(chart: StepChart, theme: Theme): BarSeriesOption[] {
  const { parts, steps, scale } = chart;
  const values = steps.map((step) => parts.valuesOf(step));
  return parts.kinds.map((kind, place) => {
    const fill = theme.fill(kind.category, kind.ghost);
    const opacity = opacityOf(chart, kind);
    return {
      type: "bar",
      stack: "step",
      name: kind.label,
      barCategoryGap: "12%",
      barMaxWidth: 56,
      itemStyle: {
        color: fill.color,
        borderColor: fill.border,
        borderWidth: kind.ghost ? 0.75 : 0.4,
        ...decalOf(fill),
      },
      emphasis: { disabled: true },
      data: steps.map((step, at) => ({
        value: (values[at]?.[place] ?? 0) / scale.unit.size,
        itemStyle: { opacity: (step.chosen ? 1 : FADED) * opacity },
      })),
    };
  });
}

/** Bands with a step for each step: columns would be thinner than a pixel. */
function bandsOf(chart: StepChart, theme: Theme): LineSeriesOption[] {
  const { parts, steps, scale } = chart;
  const values = steps.map((step) => parts.valuesOf(step));
  const band = { type: "line", step: "middle", symbol: "none", silent: true } as const;
  const bands = parts.kinds.map((kind, place): LineSeriesOption => {
    const fill = theme.fill(kind.category, kind.ghost);
    return {
      ...band,
      stack: "step",
      name: kind.label,
      lineStyle: { width: 0 },
      itemStyle: { color: fill.color, ...decalOf(fill) },
      areaStyle: { color: fill.color, opacity: opacityOf(chart, kind) },
      data: values.map((row) => (row[place] ?? 0) / scale.unit.size),
    };
  });
  // A veil over the steps that are not chosen.
  const veil: LineSeriesOption = {
    ...band,
    lineStyle: { width: 0 },
    areaStyle: { color: theme.surface, opacity: 1 - FADED },
    data: steps.map((step) => (step.chosen ? "-" : step.dur_ns / scale.unit.size)),
  };
  return steps.every((step) => step.chosen) ? bands : [...bands, veil];
}

const opacityOf = ({ active }: StepChart, kind: PartKind) =>
  active !== null && active !== kind.key ? 0.15 : 1;

/** Nothing but the length of each step, written above its column. */
function totalsOf({ steps, scale }: StepChart, theme: Theme): BarSeriesOption {
  return {
    type: "bar",
    stack: "step",
    silent: true,
    itemStyle: { color: "transparent" },
    label: {
      show: true,
      position: "top",
      distance: 3,
      color: theme.ink2,
      fontSize: 11,
      formatter: ({ dataIndex }) => {
        const scaled = (steps[dataIndex]?.dur_ns ?? 0) / scale.unit.size;
        return fixed(scaled, totalDigits(scaled, steps.length));
      },
    },
    data: steps.map(() => 0),
  };
}

function line(className: string, ...children: (Node | string)[]): HTMLElement {
  const element = document.createElement("div");
  element.className = className;
  element.append(...children);
  return element;
}

function tipRow(kind: PartKind | null, name: string, value: string, part: string): HTMLElement {
  const swatch = document.createElement("i");
  swatch.className = kind === null ? "" : `swatch ${fillClass(kind.category, kind.ghost)}`;
  return line("chart-tip-row", swatch, line("", name), line("num", value), line("num dim", part));
}

/** What would round to nothing is written in its own unit. */
const tipTime = (ns: number, scale: Scale) =>
  ns < 0.5 * scale.unit.size * 10 ** -scale.decimals ? time(ns) : withUnit(ns, scale);

/** Names from a trace are set as text: this builds elements, not markup. */
export function stepTip({ parts, steps, scale }: StepChart, place: number): HTMLElement | string {
  const step = steps[place];
  if (step === undefined) {
    return "";
  }
  const values = parts.valuesOf(step);
  const rows = parts.kinds.flatMap((kind, at) => {
    const ns = values[at] ?? 0;
    return ns > 0 ? [tipRow(kind, kind.label, tipTime(ns, scale), share(ns / step.dur_ns))] : [];
  });
  const notes = [
    step.excluded === null ? "" : `${step.excluded}: left out by default`,
    step.outlier ? "unlike the other steps" : "",
    step.chosen ? "" : "not chosen",
  ].filter((note) => note !== "");
  const tip = line("chart-tip", tipRow(null, step.name, withUnit(step.dur_ns, scale), ""), ...rows);
  if (notes.length > 0) {
    tip.append(line("dim", notes.join(" · ")));
  }
  return tip;
}

function placeOf(given: unknown): number {
  const first: unknown = Array.isArray(given) ? given[0] : given;
  return typeof first === "object" && first !== null && "dataIndex" in first
    ? Number(first.dataIndex)
    : -1;
}

function zoomOf(steps: readonly StepRow[], theme: Theme): NonNullable<ChartOption["dataZoom"]> {
  if (steps.length <= COLUMNS_MAX) {
    return [];
  }
  const slider = {
    type: "slider" as const,
    height: 14,
    bottom: 2,
    borderColor: theme.line,
    fillerColor: "transparent",
    showDetail: false,
    showDataShadow: false,
    brushSelect: false,
  };
  return [{ type: "inside", zoomOnMouseWheel: "ctrl", moveOnMouseMove: "shift" }, slider];
}

export function stepChartOption(chart: StepChart, theme: Theme): ChartOption {
  const { steps } = chart;
  const hasZoom = steps.length > COLUMNS_MAX;
  const text = { color: theme.ink3, fontSize: 11, fontFamily: theme.font };
  return {
    animation: false,
    textStyle: { fontFamily: theme.font },
    grid: { left: 36, right: 4, top: 18, bottom: hasZoom ? 40 : 20, outerBoundsMode: "none" },
    tooltip: {
      trigger: "axis",
      // Below the chart: its columns are what is compared.
      appendTo: "body",
      position: ([x], _point, _box, _rect, { contentSize: [width], viewSize: [room, height] }) => [
        Math.max(0, Math.min(x - width / 2, room - width)),
        height + 4,
      ],
      transitionDuration: 0,
      backgroundColor: theme.surface,
      borderColor: theme.lineStrong,
      borderWidth: 1,
      padding: [6, 9],
      extraCssText: "box-shadow: none; border-radius: 6px",
      textStyle: { color: theme.ink2, fontSize: 12 },
      axisPointer: { type: "shadow", shadowStyle: { color: "rgba(128, 136, 150, 0.12)" } },
      formatter: (given) => stepTip(chart, placeOf(given)),
    },
    xAxis: {
      type: "category",
      data: steps.map((step) => `${step.number}${step.excluded === null ? "" : "*"}`),
      axisTick: { show: false },
      axisLine: { lineStyle: { color: theme.lineStrong } },
      axisLabel: { ...text, hideOverlap: true },
    },
    yAxis: {
      type: "value",
      splitNumber: 4,
      splitLine: { lineStyle: { color: theme.line } },
      axisLabel: {
        ...text,
        formatter: axisNumber,
      },
    },
    dataZoom: zoomOf(steps, theme),
    series: [
      ...(hasZoom ? bandsOf(chart, theme) : columnsOf(chart, theme)),
      ...(steps.length <= TOTALS_MAX ? [totalsOf(chart, theme)] : []),
    ],
  };
}
