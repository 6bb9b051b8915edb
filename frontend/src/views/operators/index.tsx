import type { Operators } from "../../api/types.gen";
import { adoptStyles } from "../../base/style/styles";
import { count, exactTime, share, time } from "../../base/text/format";
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

/** Device time that is nobody's, with its reason: then everything adds up. */

/** Device time of calls that replay graphs, largest first, as far as the bars name them. */
export const graphsOf = ({ charts }: Operators) =>
  charts
    .filter(({ stem }) => stem === "device_self")
    .flatMap(({ parts }) => parts.filter(({ name }) => name.includes("GraphLaunch")));

interface UnattributedProps {
  readonly answer: Operators;
  readonly perStep: PerStep;
}

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
        Device time of the operators {exactTime((device_ns - lost) / steps)} + unattributed{" "}
        {exactTime(lost / steps)} = {exactTime(device_ns / steps)}, all device activity
        {perStep.words}
        {answer.flops_coverage === null || answer.flops_coverage === 0
          ? "."
          : `. FLOPs are known for ${share(answer.flops_coverage)} of the compute time.`}{" "}
        <Prose text={odd} />
      </p>
      {graphs.map(({ name, ns }) => (
        <p key={name}>
          Of this, {time(ns / steps)} ({share(ns / device_ns)}) was launched by graphs (
          <code>{harmless(name)}</code>
          ). A graph is no operator, and inside it the operator of a kernel is not recorded:{" "}
          <ViewLink stem="kernels">the kernels that ran</ViewLink>
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

/** Which operations take the time, and what calls them? */

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
