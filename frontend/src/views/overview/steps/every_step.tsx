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
import { Paragraph, Prose } from "../../../components/text/prose";
import { useAddress, useValues } from "../../../state/host/environment";
import { useLeadsTo } from "../../../state/page_context";
import { Legend } from "../legend";
import { isRemainder, type PartKind, shortLabel } from "../parts";
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

const HEIGHT = 176;

interface StepsProps {
  readonly parts: StepParts;
  readonly steps: readonly StepRow[];
  readonly scale: Scale;
  readonly onStep: (step: StepRow) => void;
}

function StepColumns({ parts, steps, scale, onStep }: StepsProps) {
  const [active, setActive] = useState<string | null>(null);
  const occurs = occurring(parts, steps);
  const kinds = parts.kinds.filter(({ key }) => occurs.has(key));
  const longest = Math.max(...steps.map((step) => step.dur_ns));
  const shortest = Math.min(...steps.map((step) => step.dur_ns));
  return (
    <div className="step-columns">
      <div className="label">{parts.title}</div>
      <Chart
        height={HEIGHT}
        label={`${parts.title} of ${plural(steps.length, "step")}, from ${time(shortest)} to ${time(longest)}`}
        option={(theme) => stepChartOption({ parts, steps, scale, active }, theme)}
        onColumn={(place) => {
          const step = steps[place];
          if (step !== undefined) {
            onStep(step);
          }
        }}
      />
      <Legend
        active={active}
        onActive={setActive}
        entries={kinds.map((kind) => ({ ...kind, label: shortLabel(kind), value: null }))}
        note={kinds.some(isIdle) ? "pale: idle meanwhile" : null}
      />
    </div>
  );
}

const isIdle = ({ label }: PartKind) => label.startsWith("Idle: ");

function toMode(text: string | undefined): Mode {
  return text === "partition" || text === "breakdown" ? text : "both";
}

/** The chosen steps on the timeline. */
function InTrace() {
  const steps = useValues()["steps"] ?? "";
  return useLeadsTo("timeline") ? (
    <ViewLink
      stem="timeline"
      params={{ steps }}
      className="btn quiet small"
      title="Show the chosen steps on the timeline"
    >
      In the trace
    </ViewLink>
  ) : null;
}

/** One column would repeat the ruler and the execution summary: a sentence takes its place. */
function OneStep({ overview, isOld }: { overview: Overview; isOld: boolean }) {
  const address = useAddress();
  return (
    <Panel
      title="Every step"
      isOld={isOld}
      controls={
        <>
          <InTrace />
          <button
            type="button"
            className="btn quiet small"
            onClick={() => address.replace({ "overview.table": "1" })}
          >
            Show as table
          </button>
        </>
      }
    >
      <p className="ink2 small">
        {overview.step_source === "" ? (
          "One step was recorded: the bar above and the execution summary show all of it."
        ) : (
          <Prose text={overview.step_source} />
        )}
      </p>
    </Panel>
  );
}

export function EveryStep(props: { overview: Overview; isOld: boolean }) {
  const isTable = useValues()["overview.table"] === "1";
  const isOne = props.overview.steps.length === 1;
  return isOne && !isTable ? <OneStep {...props} /> : <Steps {...props} />;
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
            {isTable ? "Show as chart" : "Show as table"}
          </button>
          {partition === null ? null : (
            <Segmented
              label="Seen how"
              value={mode}
              options={[
                ["both", "Both"],
                ["partition", partition.title === "Device partition" ? "Device" : "Main thread"],
                ["breakdown", "Breakdown"],
              ]}
              onChange={(next) =>
                address.replace({ "overview.steps": next === "both" ? undefined : next })
              }
            />
          )}
        </>
      }
    >
      <div className={isTable ? "stack" : "step-charts"}>
        {shown.map((parts) => (
          <Shown key={parts.title} parts={parts} steps={steps} scale={scale} onStep={onStep} />
        ))}
      </div>
      <Paragraph className="hint" text={overview.step_source} />
      {hasExcluded ? <p className="hint">* left out by default: warm-up or cut off</p> : null}
    </Panel>
  );
}
