import { useState } from "react";
import type { Overview, StepRow } from "../../../api/types.gen";
import { oneStep } from "../../../base/steps";
import {
  inScale,
  inScaleOrZero,
  plural,
  type Scale,
  time,
  timeScale,
} from "../../../base/text/format";
import { roundToSum } from "../../../base/text/rounding";
import { Swatch } from "../../../components/charts/category";
import { Chart } from "../../../components/charts/chart";
import { CopyTable } from "../../../components/controls/copy_table";
import { Segmented } from "../../../components/controls/segmented";
import { ViewLink } from "../../../components/controls/view_link";
import { Heading } from "../../../components/data_table/heading";
import { Panel } from "../../../components/states/panel";
import { Paragraph } from "../../../components/text/prose";
import { useAddress, useValues } from "../../../state/host/environment";
import { useLeadsTo, useWords } from "../../../state/page_context";
import { Legend } from "../legend";
import { isRemainder, shortLabel } from "../parts";
import { stepChartOption } from "./step_chart";
import {
  breakdownParts,
  occurring,
  partitionParts,
  type StepParts,
  stepsTable,
} from "./step_parts";

/** Every step as a table: the chart's alternative. */

interface StepTableProps {
  readonly parts: StepParts;
  readonly steps: readonly StepRow[];
  readonly scale: Scale;
  readonly onStep: (step: StepRow) => void;
}

function noteOf(step: StepRow): string {
  return [step.excluded ?? "", step.outlier ? "outlier" : ""].filter(Boolean).join(", ");
}

export function StepTable({ parts, steps, scale, onStep }: StepTableProps) {
  const slack = parts.kinds.findIndex(isRemainder);
  const hasTrace = useLeadsTo("timeline");
  return (
    <div className="scroll step-table">
      <table>
        <caption className="label">{parts.title}</caption>
        <thead>
          <tr>
            <Heading help="Its number, as recorded.">Step</Heading>
            <Heading help="From its start to its end." className="num">
              Length, {scale.unit.name}
            </Heading>
            {parts.kinds.map((kind) => (
              <Heading key={kind.key} className="num" help={kind.help}>
                <Swatch category={kind.category} ghost={kind.ghost} /> {kind.label}
              </Heading>
            ))}
            {hasTrace ? <Heading help="Leads to the step in Trace.">Trace</Heading> : null}
            <Heading help="The reason if it is left out of the means.">Note</Heading>
          </tr>
        </thead>
        <tbody>
          {steps.map((step) => {
            const quantum = scale.unit.size * 10 ** -scale.decimals;
            const values = roundToSum(parts.valuesOf(step), quantum, { slack });
            return (
              <tr key={step.index} className={step.chosen ? "" : "dim"}>
                <th scope="row">
                  <button type="button" className="link" onClick={() => onStep(step)}>
                    {step.number}
                  </button>
                </th>
                <td className="num strong">{inScale(step.dur_ns, scale)}</td>
                {values.map((value, place) => (
                  <td key={parts.kinds[place]?.key} className="num">
                    {inScaleOrZero(value, scale)}
                  </td>
                ))}
                {hasTrace ? (
                  <td>
                    <ViewLink stem="timeline" params={{ steps: oneStep(steps, step.index) }}>
                      show
                    </ViewLink>
                  </td>
                ) : null}
                <td className="dim">{noteOf(step)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** Every step beside the others: seen from the device, by the classic categories, or both. */

type Mode = "both" | "partition" | "breakdown";

const MODES: readonly Mode[] = ["partition", "breakdown", "both"];

const HEIGHT = 304;

interface StepsProps {
  readonly parts: StepParts;
  readonly steps: readonly StepRow[];
  readonly scale: Scale;
  readonly onStep: (step: StepRow) => void;
  /** The ruler above does not name these parts. */
  readonly hasLegend: boolean;
}

function StepColumns({ parts, steps, scale, onStep, hasLegend }: StepsProps) {
  const [active, setActive] = useState<string | null>(null);
  const words = useWords();
  const occurs = occurring(parts, steps);
  const kinds = parts.kinds.filter(({ key }) => occurs.has(key));
  const longest = Math.max(...steps.map((step) => step.dur_ns));
  const shortest = Math.min(...steps.map((step) => step.dur_ns));
  return (
    <div className="step-columns">
      {hasLegend ? <div className="label">{parts.title}</div> : null}
      <Chart
        height={HEIGHT}
        label={`${parts.title} of ${words(plural(steps.length, "step"))}, from ${time(shortest)} to ${time(longest)}`}
        option={(theme) => stepChartOption({ parts, steps, scale, active }, theme)}
        onColumn={(place) => {
          const step = steps[place];
          if (step !== undefined) {
            onStep(step);
          }
        }}
      />
      {hasLegend ? (
        <Legend
          active={active}
          onActive={setActive}
          entries={kinds.map((kind) => ({ ...kind, label: shortLabel(kind), value: null }))}
        />
      ) : null}
    </div>
  );
}

const toMode = (text: string | undefined): Mode =>
  MODES.find((mode) => mode === text) ?? "partition";

/** The chosen steps on the timeline. */
function InTrace() {
  const steps = useValues()["steps"] ?? "";
  const words = useWords();
  return useLeadsTo("timeline") ? (
    <ViewLink
      stem="timeline"
      params={{ steps }}
      className="btn quiet small"
      title={words("Show the chosen steps on the timeline")}
    >
      Trace
    </ViewLink>
  ) : null;
}

/** Of one step the ruler shows all: no panel, but a sentence where steps are not what was marked. */
export function EveryStep(props: { overview: Overview; isOld: boolean }) {
  const { steps, step_source } = props.overview;
  if (steps.length !== 1) {
    return <Steps {...props} />;
  }
  return <Paragraph className="ink2 small step-source" text={step_source} />;
}

function Steps({ overview, isOld }: { overview: Overview; isOld: boolean }) {
  const address = useAddress();
  const values = useValues();
  const mode = toMode(values["overview.steps"]);
  const isTable = values["overview.table"] === "1";
  const { steps } = overview;
  const partition = partitionParts(overview);
  const breakdown = breakdownParts(overview);
  const shown = [
    ...(partition !== null && mode !== "breakdown" ? [partition] : []),
    ...(partition === null || mode !== "partition" ? [breakdown] : []),
  ];
  const scale = timeScale(Math.max(0, ...steps.map((step) => step.dur_ns)));
  const onStep = (step: StepRow) => address.replace({ steps: oneStep(steps, step.index) });
  const hasExcluded = steps.some((step) => step.excluded !== null);
  if (steps.length === 0) {
    return (
      <Panel title="Every step" isOld={isOld}>
        <Paragraph
          className="ink2 small"
          text={overview.missing["steps"] ?? "No step was recorded."}
        />
      </Panel>
    );
  }
  const Shown = isTable ? StepTable : StepColumns;
  return (
    <Panel
      title="Every step"
      hint={isTable ? undefined : scale.unit.name}
      isOld={isOld}
      controls={
        <>
          <InTrace />
          <CopyTable label="every step" table={() => stepsTable(shown[0] ?? breakdown, steps)} />
          <button
            type="button"
            className="btn quiet small"
            aria-pressed={isTable}
            onClick={() => address.replace({ "overview.table": isTable ? undefined : "1" })}
          >
            {isTable ? "Chart" : "Table"}
          </button>
          {partition === null ? null : (
            <Segmented
              label="Seen how"
              value={mode}
              options={[
                ["partition", partition.title === "Device partition" ? "Device" : "Main thread"],
                ["breakdown", "Breakdown"],
                ["both", "Both"],
              ]}
              onChange={(next) =>
                address.replace({ "overview.steps": next === "partition" ? undefined : next })
              }
            />
          )}
        </>
      }
    >
      <div className={isTable ? "stack" : "step-charts"}>
        {shown.map((parts) => (
          <Shown
            key={parts.title}
            parts={parts}
            steps={steps}
            scale={scale}
            onStep={onStep}
            hasLegend={parts !== partition}
          />
        ))}
      </div>
      <Paragraph className="hint" text={overview.step_source} />
      {hasExcluded ? <p className="hint">* left out by default: warm-up or cut off</p> : null}
    </Panel>
  );
}
