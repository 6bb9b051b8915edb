/** The steps of the context bar: strip, words, menu. */
import type { TraceInfo } from "../../api/types.gen";
import { chosenIndexes, describeSteps, EVERYTHING, inWords } from "../../base/steps";
import { Popover } from "../../components/overlays/popover";
import { Chevron } from "../../components/text/icons";
import { useAddress, useValues } from "../../state/host/environment";
import { StepMenu } from "./step_menu";
import { StepStrip } from "./step_strip";

const NONE: ReadonlySet<number> = new Set();
/** The trace as a whole counts as one step: there is nothing to choose. */
const WHOLE_TRACE = "whole_trace";

export function StepPicker({ trace }: { trace: TraceInfo }) {
  const address = useAddress();
  const parameter = useValues()["steps"] ?? "";
  const { steps, noun } = trace;
  if (steps.length === 0 || trace.step_source === WHOLE_TRACE) {
    return <span className="hint wide-only unmarked">no steps marked</span>;
  }
  const word = inWords("Steps", noun);
  const chosen = chosenIndexes(steps, parameter);
  const choose = (next: string) => address.replace({ steps: next });
  const isEverything = parameter === EVERYTHING;
  const words = isEverything
    ? "everything recorded"
    : chosen === null
      ? "not in this trace"
      : inWords(describeSteps(steps, chosen), noun);
  const share = isEverything ? "" : `${chosen?.size ?? 0} of ${steps.length}`;
  return (
    <span className="row steps">
      <span className="label wide-only" aria-hidden="true">
        {word}
      </span>
      <StepStrip noun={noun} steps={steps} chosen={chosen ?? NONE} onChoose={choose} />
      <Popover
        className="pick"
        kind="dialog"
        button={
          <>
            <span className="unseen">{word} </span>
            <b aria-live="polite">{words}</b>
            <span className="dim wide-only"> {share}</span>
            <Chevron />
          </>
        }
      >
        {(close) => (
          <StepMenu
            noun={noun}
            steps={steps}
            parameter={parameter}
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
