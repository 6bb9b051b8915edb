/** A served model: its phases, its iterations, and their time by batch size. */
import type { ServedIteration, ServedPhase, Serving } from "../../api/types.gen";
import type { Theme } from "../../base/style/theme";
import { axisNumber, count, plural, share, time, timeScale } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { fillClass, Swatch } from "../../components/charts/category";
import { Chart } from "../../components/charts/chart";
import type { ChartOption } from "../../components/charts/echarts";
import { CopyTable } from "../../components/controls/copy_table";
import { Segmented } from "../../components/controls/segmented";
import { ViewLink } from "../../components/controls/view_link";
import {
  type Cells,
  DeclaredTable,
  declaredColumns,
  declaredToPlain,
} from "../../components/data_table/declared";
import { useSorted } from "../../components/data_table/rows";
import { DataTable } from "../../components/data_table/table";
import { Panel } from "../../components/states/panel";
import { Paragraph } from "../../components/text/prose";
import { useAddress, useValues } from "../../state/host/environment";

type Shown = "phases" | "iterations" | "batch";
const TABS: readonly (readonly [Shown, string])[] = [
  ["phases", "Phases"],
  ["iterations", "Iterations"],
  ["batch", "Time by batch"],
];
const HEIGHT = 220;
const SYMBOLS = ["circle", "rect", "triangle", "diamond", "roundRect"] as const;
const SIGNS = ["●", "■", "▲", "◆", "▢"] as const;
const HUES = ["--k-compute", "--k-cpu", "--k-loader", "--k-comm", "--k-other"] as const;

interface ServingProps {
  readonly serving: Serving;
  readonly isOld: boolean;
}

export function ServedModel({ serving, isOld }: ServingProps) {
  const address = useAddress();
  const hasSizes = serving.iterations.some(({ batch }) => batch !== null);
  const tabs = TABS.filter(([key]) => key !== "batch" || hasSizes);
  const asked = useValues()["overview.serving"];
  const shown = tabs.find(([key]) => key === asked)?.[0] ?? "phases";
  const { iterations, iterations_columns, iteration_count } = serving;
  return (
    <Panel
      title={harmless(serving.title, 60)}
      hint={plural(iteration_count, "iteration")}
      isOld={isOld}
      className="serving-panel"
      hasBody={false}
      controls={
        <>
          {shown === "phases" ? null : (
            <CopyTable
              label="the iterations"
              table={() => declaredToPlain(iterations_columns)(iterations)}
            />
          )}
          <Segmented
            label="What of it"
            value={shown}
            options={tabs}
            onChange={(next) =>
              address.replace({ "overview.serving": next === "phases" ? undefined : next })
            }
          />
        </>
      }
    >
      {shown === "phases" ? <Phases serving={serving} /> : null}
      {shown === "iterations" ? <Iterations serving={serving} isOld={isOld} /> : null}
      {shown === "batch" ? <ByBatch iterations={iterations} /> : null}
      <div className="serving-notes">
        {serving.notes.map((note) => (
          <Paragraph key={note} className="ink2 small" text={note} />
        ))}
      </div>
    </Panel>
  );
}

function Phases({ serving: { phases, phases_columns } }: { serving: Serving }) {
  const isHeld = phases.some(({ holder }) => holder !== "");
  const heads = isHeld ? phases_columns : phases_columns.filter(({ key }) => key !== "holder");
  return (
    <>
      {phases.map((phase) => (
        <Families key={phase.phase} phase={phase} />
      ))}
      <div className="scroll served-table">
        <DeclaredTable
          label="the phases"
          heads={heads}
          rows={phases}
          keyOf={({ phase }) => phase}
        />
      </div>
    </>
  );
}

/** The device time of one phase by families of kernels. */
function Families({ phase }: { phase: ServedPhase }) {
  const { name, steps, families, share_ratio, count: number, span_ns } = phase;
  const words = families.map((one) => `${one.name} ${share(one.ratio)}`).join(", ");
  return (
    <section className="served-phase" aria-label={name}>
      <p className="served-head">
        <b>
          <ViewLink
            stem="overview"
            params={{ steps }}
            title="Choose the steps of this phase, in every view"
          >
            {name}
          </ViewLink>
        </b>{" "}
        <span className="ink2">
          {share(share_ratio)} of the time · {plural(number, "iteration")} · {time(span_ns)} each
        </span>
      </p>
      {families.length === 0 ? null : (
        <>
          <div className="served-bar" role="img" aria-label={`${name}: ${words}`}>
            {families.map((one) => (
              <i
                key={one.name}
                className={fillClass(one.category, false)}
                style={{ flexGrow: one.ratio }}
                title={`${harmless(one.name)}: ${time(one.ns)}, ${share(one.ratio)}`}
              />
            ))}
          </div>
          <ul className="path-shares served-families">
            {families.map((one) => (
              <li key={one.name}>
                <Swatch category={one.category} />
                {harmless(one.name)} <b>{share(one.ratio)}</b>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

const CELLS: Cells<ServedIteration> = {
  number: { grow: 0, width: 64 },
  label: {
    width: 170,
    grow: 2,
    cell: ({ label, link }) => (
      <ViewLink stem={link.view} params={link.params} title={link.text}>
        {harmless(label)}
      </ViewLink>
    ),
  },
  holder: { width: 150, grow: 2 },
  left_out: { width: 70 },
};

function Iterations({ serving, isOld }: ServingProps) {
  const { iterations, iterations_columns, iteration_count } = serving;
  const isLeftOut = iterations.some(({ left_out }) => left_out !== "");
  const heads = iterations_columns.filter(
    ({ key, is_minor }) => !is_minor && (key !== "left_out" || isLeftOut),
  );
  const columns = declaredColumns(heads, iterations, CELLS);
  const sorted = useSorted(iterations, columns, null);
  return (
    <>
      <DataTable
        label="Iterations"
        columns={columns}
        {...sorted}
        keyOf={({ index }) => index}
        toPlain={declaredToPlain(iterations_columns)}
        isOld={isOld}
        empty="No iteration lies in the chosen steps."
      />
      {iterations.length < iteration_count ? (
        <p className="hint">
          The first {count(iterations.length)} of {count(iteration_count)} iterations.
        </p>
      ) : null}
    </>
  );
}

const phaseName = (phase: string): string => phase || "no phase";

/** Device time of each iteration against its batch size, a sign for each phase. */
export function batchOption(iterations: readonly ServedIteration[], theme: Theme): ChartOption {
  const known = iterations.filter(({ batch, left_out }) => batch !== null && left_out === "");
  const phases = [...new Set(known.map(({ phase }) => phase))];
  const scale = timeScale(Math.max(0, ...known.map(({ span_ns }) => span_ns)));
  const text = { color: theme.ink3, fontSize: 11, fontFamily: theme.font };
  return {
    animation: false,
    textStyle: { fontFamily: theme.font },
    grid: { left: 52, right: 18, top: 26, bottom: 40 },
    tooltip: {
      confine: true,
      backgroundColor: theme.surface,
      borderColor: theme.line,
      textStyle: { color: theme.ink, fontSize: 12, fontFamily: theme.font },
      renderMode: "richText",
      formatter: (given) => {
        const one = Array.isArray(given) ? given[0] : given;
        const row = known.filter(({ phase }) => phase === phases[one?.seriesIndex ?? -1])[
          one?.dataIndex ?? -1
        ];
        return row === undefined
          ? ""
          : `${harmless(row.label)}, iteration ${count(row.number)}\n${time(row.span_ns)} on the device`;
      },
    },
    xAxis: {
      type: "value",
      name: "requests in the batch",
      nameLocation: "middle",
      nameGap: 24,
      nameTextStyle: text,
      minInterval: 1,
      min: 0,
      axisTick: { show: false },
      axisLine: { lineStyle: { color: theme.lineStrong } },
      splitLine: { show: false },
      axisLabel: { ...text, hideOverlap: true },
    },
    yAxis: {
      type: "value",
      name: scale.unit.name,
      nameGap: 10,
      nameTextStyle: text,
      min: 0,
      splitNumber: 4,
      splitLine: { lineStyle: { color: theme.line } },
      axisLabel: { ...text, formatter: axisNumber },
    },
    series: phases.map((phase, at) => ({
      type: "scatter" as const,
      name: phaseName(phase),
      symbol: SYMBOLS[at % SYMBOLS.length] ?? "circle",
      symbolSize: 9,
      itemStyle: {
        color: theme.fill((HUES[at] ?? "--k-other").slice(4), false).color,
        borderColor: theme.surface,
        borderWidth: 1,
        opacity: 0.85,
      },
      data: known
        .filter((one) => one.phase === phase)
        .map((one) => [one.batch ?? 0, one.span_ns / scale.unit.size]),
    })),
  };
}

function ByBatch({ iterations }: { iterations: readonly ServedIteration[] }) {
  const known = iterations.filter(({ batch, left_out }) => batch !== null && left_out === "");
  const phases = [...new Set(known.map(({ phase }) => phase))];
  return (
    <div className="served-chart">
      <p className="hint">
        {phases.map((phase, at) => (
          <span key={phase} className="served-sign">
            <i style={{ color: `var(${HUES[at] ?? "--k-other"})` }} aria-hidden="true">
              {SIGNS[at % SIGNS.length]}
            </i>{" "}
            {phaseName(phase)}
          </span>
        ))}
      </p>
      <Chart
        height={HEIGHT}
        label={`Device time of ${plural(known.length, "iteration")} by batch size; the table has the figures.`}
        option={(theme) => batchOption(iterations, theme)}
        onColumn={() => undefined}
      />
    </div>
  );
}
