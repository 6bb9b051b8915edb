import type { Operators } from "../../api/types.gen";
import { adoptStyles } from "../../base/style/styles";
import { count, inScale, share, time, timeScale, withUnit } from "../../base/text/format";
import { roundToSum } from "../../base/text/rounding";
import { harmless } from "../../base/text/shown_name";
import { Segmented } from "../../components/controls/segmented";
import { ViewLink } from "../../components/controls/view_link";
import { type PerStep, usePerStep } from "../../components/data_table/per_step";
import { Skeleton, ViewAnswer } from "../../components/states/answered";
import { CodeName } from "../../components/text/code_name";
import { Hero } from "../../components/text/hero";
import { Paragraph, Prose } from "../../components/text/prose";
import { useAddress, useValues } from "../../state/host/environment";
import { FlameView } from "./flame_view";
import operatorsCss from "./operators.css?inline";
import { partsOf, Shares } from "./shares";
import { KINDS_USUAL, OperatorRows } from "./table_view";

/** Device time of calls that replay graphs, largest first, as far as the bars name them. */
export const graphsOf = ({ charts }: Operators) =>
  charts
    .filter(({ stem }) => stem === "device_self")
    .flatMap(({ parts }) => parts.filter(({ name }) => name.includes("GraphLaunch")));

interface UnattributedProps {
  readonly answer: Operators;
  readonly perStep: PerStep;
}

/** Device time as a sum in one unit: of operators, and of work without one. */
export function sumOf(whole: number, lost: number): string {
  const scale = timeScale(whole);
  if (lost === 0) {
    return `${withUnit(whole, scale)}, all of operators`;
  }
  const quantum = scale.unit.size * 10 ** -scale.decimals;
  const [known = 0, rest = 0] = roundToSum([whole - lost, lost], quantum);
  const unknown = inScale(rest === 0 ? lost : rest, scale);
  return `${withUnit(whole, scale)} = operators ${inScale(known, scale)} + without an operator ${unknown}`;
}

/** Device time without an operator, with its reason: then everything adds up. */
export function Unattributed({ answer, perStep }: UnattributedProps) {
  const { device_ns, unattributed } = answer;
  const odd = answer.missing["flops"] ?? "";
  if (device_ns === null) {
    return <Paragraph className="hint" text={`${answer.missing["device"] ?? ""} ${odd}`.trim()} />;
  }
  const graphs = graphsOf(answer);
  const lost = unattributed.reduce((sum, one) => sum + one.device_ns, 0);
  const { steps } = perStep;
  return (
    <section className="hint" aria-label="What adds up">
      <p>
        Device time{perStep.words}: {sumOf(device_ns / steps, lost / steps)}
        {answer.flops_coverage === null || answer.flops_coverage === 0
          ? "."
          : `. FLOPs are known for ${share(answer.flops_coverage)} of the compute time.`}{" "}
        <Prose text={odd} />
      </p>
      {graphs.map(({ name, ns }) => (
        <p key={name}>
          <code>{harmless(name)}</code> launched {time(ns / steps)} ({share(ns / device_ns)}) of it.
          The recording does not name the operators in a graph:{" "}
          <ViewLink stem="kernels">see the kernels that ran</ViewLink>
        </p>
      ))}
      {unattributed.map((one) => (
        <p key={one.reason}>
          {time(one.device_ns / steps)} ({share(one.device_ns / device_ns)}) in{" "}
          {count(one.activities)} {one.activities === 1 ? "activity" : "activities"}:{" "}
          {`${one.reason}; for example `}
          <ViewLink stem="timeline" params={{ select: String(one.slice) }}>
            <CodeName name={one.example} />
          </ViewLink>
        </p>
      ))}
    </section>
  );
}

adoptStyles(operatorsCss);

const MODES = [
  ["table", "Table"],
  ["flame", "Flame graph"],
] as const;
type Mode = (typeof MODES)[number][0];

function Figures({ answer, isOld, steps }: { answer: Operators; isOld: boolean; steps: string }) {
  const address = useAddress();
  const mode: Mode = useValues()["operators.mode"] === "flame" ? "flame" : "table";
  const perStep = usePerStep(answer.table.step_count);
  const modes = (
    <Segmented
      label="Show as"
      options={MODES}
      value={mode}
      onChange={(next) =>
        address.replace({ "operators.mode": next === "flame" ? next : undefined })
      }
    />
  );
  return (
    <div className={isOld ? "stack stale" : "stack"}>
      <Hero headline={answer.headline} detail={answer.detail} />
      {answer.charts.some((chart) => chart.total_ns > 0) ? (
        <Shares answer={answer} isOld={isOld} steps={steps} perStep={perStep} />
      ) : null}
      <Unattributed answer={answer} perStep={perStep} />
      {mode === "flame" ? (
        <FlameView
          steps={steps}
          hasDevice={answer.device_ns !== null}
          perStep={perStep}
          modes={modes}
        />
      ) : (
        <OperatorRows answer={answer} steps={steps} perStep={perStep} modes={modes} />
      )}
    </div>
  );
}

export default function OperatorsView() {
  const values = useValues();
  const steps = values["steps"] ?? "";
  const parts = partsOf(values["operators.parts"]);
  return (
    <ViewAnswer
      stem="operators"
      query={{ steps, kinds: values["operators.kinds"] ?? KINDS_USUAL, limit: 1, parts }}
      waiting={<Skeleton heights={[48, 150, 520]} />}
    >
      {(answer, isOld) => <Figures answer={answer} isOld={isOld} steps={steps} />}
    </ViewAnswer>
  );
}
