/** Every kernel by how well it fills the device: blocks per multiprocessor against occupancy. */
import type { KernelRow, Kernels } from "../../api/types.gen";
import { fade } from "../../base/color";
import { fixed, time } from "../../base/format";
import { harmless, nameParts } from "../../base/shown_name";
import type { Theme } from "../../base/theme";
import { Chart } from "../../components/chart";
import type { ChartOption } from "../../components/echarts";
import { Panel } from "../../components/panel";
import { Prose } from "../../components/prose";

const HEIGHT = 210;
const LABELS = 5;
const BIGGEST = 42;
/** So far along the axis labels stand on the other side. */
const LABELS_TURN = 0.62;

type Known = KernelRow & { readonly blocks_per_sm: number; readonly occupancy: number };

const isKnown = (row: KernelRow): row is Known =>
  row.blocks_per_sm !== null && row.blocks_per_sm > 0 && row.occupancy !== null;

function option(rows: readonly Known[], theme: Theme): ChartOption {
  const most = Math.max(...rows.map((row) => row.total_ns), 1);
  const { color } = theme.fill("compute", false);
  const decades = rows.map((row) => Math.log10(row.blocks_per_sm));
  const [low, high] = [Math.floor(Math.min(...decades)), Math.ceil(Math.max(...decades))];
  // Towards the right edge there is no room behind a dot.
  const edge = 10 ** (low + (high - low) * LABELS_TURN);
  const axis = {
    axisLine: { show: false },
    axisTick: { show: false },
    axisLabel: { color: theme.ink3, fontSize: 11 },
    nameTextStyle: { color: theme.ink3, fontSize: 11 },
  };
  return {
    animation: false,
    grid: { left: 40, right: 12, top: 12, bottom: 36 },
    tooltip: {
      confine: true,
      backgroundColor: theme.surface,
      borderColor: theme.line,
      textStyle: { color: theme.ink, fontSize: 12 },
      renderMode: "richText",
      formatter: (point) => {
        const row = rows[(Array.isArray(point) ? point[0] : point)?.dataIndex ?? -1];
        return row === undefined
          ? ""
          : `${harmless(row.name, 80)}\n${time(row.total_ns)} · ${fixed(row.blocks_per_sm, 2)} blocks per SM · ${fixed(row.occupancy, 0)} %`;
      },
    },
    xAxis: {
      ...axis,
      type: "log",
      name: "mean blocks per SM",
      nameLocation: "middle",
      nameGap: 22,
      splitLine: { show: false },
    },
    yAxis: {
      ...axis,
      type: "value",
      min: 0,
      max: 100,
      interval: 25,
      splitLine: { lineStyle: { color: theme.line } },
    },
    series: [
      {
        type: "scatter",
        data: rows.map((row) => ({
          value: [row.blocks_per_sm, row.occupancy],
          label: { position: row.blocks_per_sm > edge ? ("left" as const) : ("right" as const) },
        })),
        symbolSize: (_: unknown, { dataIndex }: { dataIndex: number }) =>
          Math.max(6, Math.sqrt((rows[dataIndex]?.total_ns ?? 0) / most) * BIGGEST),
        itemStyle: { color: fade(color, 0.45), borderColor: color, borderWidth: 1 },
        label: {
          show: true,
          color: theme.ink2,
          fontSize: 11,
          // Readable above the dots of others.
          textBorderColor: theme.surface,
          textBorderWidth: 3,
          formatter: ({ dataIndex }: { dataIndex: number }) =>
            dataIndex < LABELS ? nameParts(rows[dataIndex]?.name ?? "").base.slice(0, 24) : "",
        },
        labelLayout: { hideOverlap: true },
        markArea: {
          silent: true,
          itemStyle: { color: theme.fill("comm", true).color, opacity: 0.5 },
          label: { color: theme.ink2, fontSize: 11, position: "insideTopLeft" },
          data: [[{ name: "under-filled", xAxis: "min" }, { xAxis: 1 }]],
        },
      },
    ],
  };
}

export function Fill({ answer, isOld }: { answer: Kernels; isOld: boolean }) {
  const rows = answer.table.rows.filter(isKnown);
  return (
    <Panel
      title="Every kernel by fill and occupancy"
      hint="up: est. achieved occupancy, %; area: total time; shaded: less than one block per SM"
      isOld={isOld}
    >
      {rows.length === 0 ? (
        <p className="dim">
          <Prose
            text={
              answer.missing["occupancy"] ??
              answer.missing["blocks"] ??
              "No kernel carries both figures."
            }
          />
        </p>
      ) : (
        <Chart
          label={`${rows.length} kernels by mean blocks per multiprocessor and estimated occupancy; the table below has the figures.`}
          height={HEIGHT}
          option={(theme) => option(rows, theme)}
          onColumn={() => undefined}
        />
      )}
    </Panel>
  );
}
