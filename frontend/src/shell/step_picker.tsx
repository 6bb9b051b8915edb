/** The steps of the context bar: strip, words, menu. */
import type { TraceInfo } from "../api/types.gen";
import { chosenIndexes, describeSteps } from "../base/steps";
import { Chevron } from "../components/icons";
import { Popover } from "../components/popover";
import { useAddress, useValues } from "../state/environment";
import { StepMenu } from "./step_menu";
import { StepStrip } from "./step_strip";

const NONE: ReadonlySet<number> = new Set();

export function StepPicker({ trace }: { trace: TraceInfo }) {
  const address = useAddress();
  const parameter = useValues()["steps"] ?? "";
  const { steps } = trace;
  if (steps.length === 0) {
    return <span className="hint wide-only">no steps recorded</span>;
  }
  const chosen = chosenIndexes(steps, parameter);
  const choose = (next: string) => address.replace({ steps: next });
  const words = chosen === null ? "not in this trace" : describeSteps(steps, chosen);
  const share = `${chosen?.size ?? 0} of ${steps.length}`;
  return (
    <span className="row steps">
      <span className="label wide-only">Steps</span>
      <StepStrip steps={steps} chosen={chosen ?? NONE} onChoose={choose} />
      <Popover
        className="pick"
        kind="dialog"
        label={`Steps: ${words}, ${share}`}
        button={
          <>
            <b aria-live="polite">{words}</b>
            <span className="dim wide-only">{share}</span>
            <Chevron />
          </>
        }
      >
        {(close) => (
          <StepMenu
            steps={steps}
            parameter={parameter}
            source={trace.step_source}
            onChoose={(next) => {
              close();
              choose(next);
            }}
          />
        )}
      </Popover>
    </span>
  );
}
