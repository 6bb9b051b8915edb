/** Every kernel by how well it fills the device: blocks per multiprocessor against occupancy. */
import type { KernelRow, Kernels } from "../../api/types.gen";
import { textWidth } from "../../base/measure";
import { fade } from "../../base/style/color";
import type { Theme } from "../../base/style/theme";
import { plainTable } from "../../base/text/delimited";
import { count, fixed, time } from "../../base/text/format";
import { harmless, nameParts } from "../../base/text/shown_name";
import { Chart } from "../../components/charts/chart";
import type { ChartOption } from "../../components/charts/echarts";
import { CopyTable } from "../../components/controls/copy_table";
import { FirstFew } from "../../components/states/first_few";
import { Panel } from "../../components/states/panel";
import { CodeName } from "../../components/text/code_name";
import { Paragraph } from "../../components/text/prose";
import { type Box, decadesOf, decadeTicks, placeLabels } from "./labels";

const HEIGHT = 230;
const BIGGEST = 42;
const SMALLEST = 6;
const GRID = { left: 40, right: 12, top: 14, bottom: 38 };
const FONT = 11;
const NAME_MOST = 24;
const UNDER_FILLED = "under-filled";
const LISTED = 4;

type Known = KernelRow & { readonly blocks_per_sm: number; readonly occupancy_percent: number };

const isKnown = (row: KernelRow): row is Known =>
  row.blocks_per_sm !== null && row.blocks_per_sm > 0 && row.occupancy_percent !== null;

const shortName = (row: KernelRow) => {
  // In a picture there is room for what a function computes, or for the function.
  const computed = /<([A-Z].+)>$/s.exec(row.short)?.[1];
  const base = computed ?? nameParts(row.short).base;
  return base.length > NAME_MOST ? `${base.slice(0, NAME_MOST - 1)}…` : base;
};

const blocksText = (decade: number) => String(Number((10 ** decade).toPrecision(2)));

function option(rows: readonly Known[], steps: number, theme: Theme, width: number): ChartOption {
  const longest = Math.max(...rows.map((row) => row.total_ns), 1);
  const { color } = theme.fill("compute", false);
  const font = `${FONT}px ${theme.font}`;
  const [low, high] = decadesOf(rows.map((row) => row.blocks_per_sm));
  const top = Math.max(
    25,
    Math.ceil(Math.max(...rows.map((row) => row.occupancy_percent)) / 25) * 25,
  );
  const area: Box = {
    left: GRID.left,
    top: 0,
    right: width - GRID.right,
    bottom: HEIGHT - GRID.bottom,
  };
  const x = (decade: number) =>
    area.left + ((decade - low) / (high - low)) * (area.right - area.left);
  const y = (percent: number) => area.bottom - (percent / top) * (area.bottom - GRID.top);
  const dots = rows.map((row) => ({
    x: x(Math.log10(row.blocks_per_sm)),
    y: y(row.occupancy_percent),
    radius: Math.max(SMALLEST, Math.sqrt(row.total_ns / longest) * BIGGEST) / 2,
    text: shortName(row),
  }));
  const isUnder = low < 0;
  const under: Box = {
    left: area.left,
    top: GRID.top,
    right: area.left + textWidth(UNDER_FILLED, font) + 10,
    bottom: GRID.top + 20,
  };
  const sides = placeLabels(dots, area, isUnder ? [under] : [], (text) => textWidth(text, font));
  const ticks = [...decadeTicks(low, high)];
  const axis = {
    axisLine: { show: false },
    axisTick: { show: false },
    nameTextStyle: { color: theme.ink3, fontSize: FONT },
  };
  return {
    animation: false,
    textStyle: { fontFamily: theme.font },
    grid: GRID,
    tooltip: {
      confine: true,
      backgroundColor: theme.surface,
      borderColor: theme.line,
      textStyle: { color: theme.ink, fontSize: 12, fontFamily: theme.font },
      renderMode: "richText",
      formatter: (point) => {
        const row = rows[(Array.isArray(point) ? point[0] : point)?.dataIndex ?? -1];
        return row === undefined
          ? ""
          : `${harmless(row.name, 80)}\n${time(row.total_ns / steps)} · ${fixed(row.blocks_per_sm, 2)} blocks per SM · ${fixed(row.occupancy_percent, row.occupancy_percent < 9.5 ? 1 : 0)} %`;
      },
    },
    // Decades on a plain axis: a logarithmic one of ECharts ends at whole decades.
    xAxis: {
      ...axis,
      type: "value",
      min: low,
      max: high,
      name: "mean blocks per SM",
      nameLocation: "middle",
      nameGap: 22,
      splitLine: { show: false },
      axisLabel: {
        color: theme.ink3,
        fontSize: FONT,
        customValues: ticks,
        formatter: (decade: number) => blocksText(decade),
      },
    },
    yAxis: {
      ...axis,
      type: "value",
      min: 0,
      max: top,
      interval: top > 50 ? 25 : top / 5,
      axisLabel: { color: theme.ink3, fontSize: FONT },
      splitLine: { lineStyle: { color: theme.line } },
    },
    series: [
      {
        type: "scatter",
        data: rows.map((row, place) => {
          const side = sides[place] ?? null;
          return {
            value: [Math.log10(row.blocks_per_sm), row.occupancy_percent],
            symbolSize: 2 * (dots[place]?.radius ?? 0),
            label: side === null ? { show: false } : { show: true, position: side },
          };
        }),
        itemStyle: { color: fade(color, 0.45), borderColor: color, borderWidth: 1 },
        label: {
          color: theme.ink2,
          fontSize: FONT,
          // Readable above the rim of a dot.
          textBorderColor: theme.surface,
          textBorderWidth: 3,
          formatter: ({ dataIndex }: { dataIndex: number }) => dots[dataIndex]?.text ?? "",
        },
        ...(isUnder
          ? {
              markArea: {
                silent: true,
                itemStyle: { color: theme.fill("comm", true).color, opacity: 0.5 },
                label: { color: theme.ink2, fontSize: FONT, position: "insideTopLeft" as const },
                data: [[{ name: UNDER_FILLED, xAxis: low }, { xAxis: Math.min(0, high) }]],
              },
            }
          : {}),
      },
    ],
  };
}

/** Kernels that are not in the chart, because they have no place in it. */
interface UnplacedProps {
  readonly rows: readonly KernelRow[];
  readonly why: string;
  readonly steps: number;
}

function Unplaced({ rows, why, steps }: UnplacedProps) {
  const spent = rows.reduce((sum, row) => sum + row.total_ns, 0);
  return (
    <div className="fill-unplaced">
      <p className="hint" title={why}>
        Not drawn, without both figures: {count(rows.length)} · {time(spent / steps)}
      </p>
      <FirstFew items={rows} most={LISTED}>
        {(shown) => (
          <ul>
            {shown.map((row) => (
              <li key={row.key}>
                <CodeName name={row.name} short={row.short} />
                <span className="num dim">{time(row.total_ns / steps)}</span>
              </li>
            ))}
          </ul>
        )}
      </FirstFew>
    </div>
  );
}

const fillTable = plainTable<Known>(["name", "blocks_per_sm", "occupancy_percent", "total_ns"]);

interface FillProps {
  readonly answer: Kernels;
  readonly isOld: boolean;
  /** What times are divided by. */
  readonly steps: number;
}

export function Fill({ answer, isOld, steps }: FillProps) {
  const rows = answer.table.rows.filter(isKnown).sort((a, b) => b.total_ns - a.total_ns);
  const unplaced = answer.table.rows.filter((row) => !isKnown(row));
  const { rows: sent, count: all } = answer.table;
  const beyond =
    all > sent.length ? `; the ${count(sent.length)} of ${count(all)} that take longest` : "";
  const why =
    answer.missing["occupancy"] ??
    answer.missing["blocks"] ??
    "They were not recorded, and what they are computed from is not in the file.";
  return (
    <Panel
      title="Every kernel by fill and occupancy"
      hint={
        rows.length === 0
          ? ""
          : `up: est. achieved occupancy, %; area: total time; shaded: less than one block per SM${beyond}`
      }
      isOld={isOld}
      controls={<CopyTable label="fill and occupancy" table={() => fillTable(rows)} />}
    >
      {rows.length === 0 ? (
        <Paragraph className="dim" text={why} />
      ) : (
        <>
          <Chart
            label={`${rows.length} kernels by mean blocks per multiprocessor and estimated occupancy; the table below has the figures.`}
            height={HEIGHT}
            option={(theme, width) => option(rows, steps, theme, width)}
            onColumn={() => undefined}
          />
          {unplaced.length === 0 ? null : <Unplaced rows={unplaced} why={why} steps={steps} />}
        </>
      )}
    </Panel>
  );
}
