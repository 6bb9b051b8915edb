/** Bus bandwidth against message size, a dot for each group, operation and size. */
import type { BandwidthPoint, Distributed } from "../../api/types.gen";
import type { Theme } from "../../base/style/theme";
import { plainTable } from "../../base/text/delimited";
import { bytes, count, fixed, plural, time } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { Chart } from "../../components/charts/chart";
import type { ChartOption } from "../../components/charts/echarts";
import { CopyTable } from "../../components/controls/copy_table";
import { Panel } from "../../components/states/panel";
import { Paragraph } from "../../components/text/prose";

const HEIGHT = 210;
const FONT = 11;
const SYMBOLS = ["rect", "circle", "triangle", "diamond", "roundRect", "pin"] as const;
const SIGNS = ["■", "●", "▲", "◆", "▢", "⬇"] as const;

export const speed = (gbs: number): string =>
  gbs >= 0.01 ? fixed(gbs, gbs >= 100 ? 0 : gbs >= 10 ? 1 : 2) : gbs.toPrecision(2);

const powers = (low: number, high: number): number[] => {
  const found: number[] = [];
  for (let power = Math.floor(low); power <= Math.ceil(high); power += 1) {
    found.push(power);
  }
  return found;
};

function option(
  points: readonly BandwidthPoint[],
  kinds: readonly string[],
  theme: Theme,
): ChartOption {
  const sizes = powers(
    Math.min(...points.map((one) => Math.log10(one.bytes))),
    Math.max(...points.map((one) => Math.log10(one.bytes))),
  );
  const speeds = powers(
    Math.min(...points.map((one) => Math.log10(one.bus_gbs))),
    Math.max(...points.map((one) => Math.log10(one.bus_gbs))),
  );
  const { color } = theme.fill("comm", false);
  const axis = {
    type: "value" as const,
    axisLine: { show: false },
    axisTick: { show: false },
    nameTextStyle: { color: theme.ink3, fontSize: FONT },
  };
  const every = (all: readonly number[], most: number) =>
    all.filter((_, at) => at % Math.ceil(all.length / most) === 0);
  return {
    animation: false,
    textStyle: { fontFamily: theme.font },
    grid: { left: 52, right: 14, top: 24, bottom: 26 },
    tooltip: {
      confine: true,
      backgroundColor: theme.surface,
      borderColor: theme.line,
      textStyle: { color: theme.ink, fontSize: 12, fontFamily: theme.font },
      renderMode: "richText",
      formatter: (point) => {
        const one = Array.isArray(point) ? point[0] : point;
        const kind = kinds[one?.seriesIndex ?? -1];
        const row = points.filter(({ operation }) => operation === kind)[one?.dataIndex ?? -1];
        return row === undefined
          ? ""
          : `${harmless(row.operation)} of ${bytes(row.bytes)}, ${harmless(row.group, 40)}\n${speed(row.bus_gbs)} GB/s bus, ${speed(row.algorithm_gbs)} GB/s algorithm\n${time(row.transfer_ns)} transfer, median of ${count(row.count)}`;
      },
    },
    xAxis: {
      ...axis,
      min: sizes[0] ?? 0,
      max: sizes.at(-1) ?? 1,
      splitLine: { show: false },
      axisLabel: {
        color: theme.ink3,
        fontSize: FONT,
        customValues: every(sizes, 4),
        formatter: (power: number) => decimalBytes(power),
      },
    },
    yAxis: {
      ...axis,
      min: speeds[0] ?? 0,
      max: speeds.at(-1) ?? 1,
      name: "bus GB/s",
      nameGap: 10,
      axisLabel: {
        color: theme.ink3,
        fontSize: FONT,
        customValues: every(speeds, 6),
        formatter: (power: number) => String(Number((10 ** power).toPrecision(2))),
      },
      splitLine: { lineStyle: { color: theme.line } },
    },
    series: kinds.map((kind, at) => ({
      type: "scatter" as const,
      symbol: SYMBOLS[at % SYMBOLS.length] ?? "circle",
      symbolSize: 10,
      itemStyle: { color, borderColor: theme.surface, borderWidth: 1, opacity: 0.85 },
      data: points
        .filter(({ operation }) => operation === kind)
        .map((one) => [Math.log10(one.bytes), Math.log10(one.bus_gbs)]),
    })),
  };
}

/** 100 B, 10 kB, 1 MB: decades of a size. */
function decimalBytes(power: number): string {
  const unit = Math.max(0, Math.min(4, Math.floor(power / 3)));
  return `${10 ** (power - 3 * unit)} ${["B", "kB", "MB", "GB", "TB"][unit]}`;
}

const bandwidthTable = plainTable<BandwidthPoint>([
  "operation",
  "group",
  "bytes",
  "count",
  "transfer_ns",
  "algorithm_gbs",
  "bus_gbs",
]);

export function Bandwidth({ answer, isOld }: { answer: Distributed; isOld: boolean }) {
  const points = answer.bandwidth;
  const alone = points.length === 1 ? points[0] : undefined;
  const kinds = [...new Set(points.map(({ operation }) => operation))];
  return (
    <Panel
      title="Bandwidth against size"
      hint={kinds.map((kind, at) => `${SIGNS[at % SIGNS.length]} ${harmless(kind, 24)}`).join("  ")}
      isOld={isOld}
      className="bandwidth-panel"
      controls={<CopyTable label="bandwidth" table={() => bandwidthTable(points)} />}
    >
      {alone !== undefined ? (
        <p className="ink2 small">
          {harmless(alone.operation)} of {bytes(alone.bytes)}, {plural(alone.count, "call")}:{" "}
          <b>{speed(alone.bus_gbs)} GB/s</b> bus
        </p>
      ) : points.length === 0 ? (
        <Paragraph
          className="ink2 small"
          text={`Bandwidth is not available. ${answer.reasons["bandwidth"] ?? ""}`}
        />
      ) : (
        <Chart
          label={`Bus bandwidth of ${points.length} sizes of ${kinds.join(", ")}; the table of collectives has the figures.`}
          height={HEIGHT}
          option={(theme) => option(points, kinds, theme)}
          onColumn={() => undefined}
        />
      )}
    </Panel>
  );
}
