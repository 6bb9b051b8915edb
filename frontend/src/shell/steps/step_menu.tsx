/** The choice of steps in words: all, all but warm-up, or a typed range. */
import { type FormEvent, useState } from "react";
import type { StepInfo } from "../../api/types.gen";
import {
  ALL_STEPS,
  chosenIndexes,
  DEFAULT_STEPS,
  EVERYTHING,
  oneStep,
  parameterOfNumbers,
} from "../../base/steps";
import { plural, time } from "../../base/text/format";
import { CheckIcon } from "../../components/text/icons";

interface StepMenuProps {
  readonly steps: readonly StepInfo[];
  readonly parameter: string;
  readonly onChoose: (parameter: string) => void;
}

const NAMED = 4;

function LeftOut({ steps }: { readonly steps: readonly StepInfo[] }) {
  const [isOpen, setOpen] = useState(false);
  const reasons = steps.flatMap(({ number, excluded }) =>
    excluded === null ? [] : [`${number} (${excluded})`],
  );
  if (reasons.length === 0) {
    return <>No step is left out by default: none is warm-up, none was cut off.</>;
  }
  if (isOpen || reasons.length <= NAMED) {
    return <>Left out by default: {reasons.join(", ")}.</>;
  }
  return (
    <>
      Left out by default: {reasons.slice(0, NAMED).join(", ")} and{" "}
      <button type="button" className="link" onClick={() => setOpen(true)}>
        {reasons.length - NAMED} more
      </button>
      .
    </>
  );
}

function TypedRange({ steps, onChoose }: Pick<StepMenuProps, "steps" | "onChoose">) {
  const [typed, setTyped] = useState("");
  const [isWrong, setWrong] = useState(false);
  const [first, last] = [steps[0]?.number, steps.at(-1)?.number];
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    const parameter = parameterOfNumbers(steps, typed);
    setWrong(parameter === null);
    if (parameter !== null) {
      onChoose(parameter);
    }
  };
  return (
    <form className="step-range" onSubmit={onSubmit}>
      <label className="row">
        Steps
        <span className="input small">
          <input
            value={typed}
            placeholder={`${first}–${last}`}
            size={12}
            aria-invalid={isWrong}
            aria-describedby="step-range-help"
            autoComplete="off"
            onChange={(event) => setTyped(event.target.value)}
          />
        </span>
      </label>
      <button type="submit" className="btn small">
        Choose
      </button>
      <p id="step-range-help" className={isWrong ? "bad small" : "hint"} aria-live="polite">
        {isWrong
          ? `Numbers between ${first} and ${last}, like 6, 6-8 or 5,7-9.`
          : "Like 6, 6-8 or 5,7-9"}
      </p>
    </form>
  );
}

export function StepMenu({ steps, parameter, onChoose }: StepMenuProps) {
  const usual = chosenIndexes(steps, DEFAULT_STEPS)?.size ?? 0;
  const words = [
    [DEFAULT_STEPS, "Without warm-up and cut-off steps", plural(usual, "step")],
    [ALL_STEPS, "All steps", plural(steps.length, "step")],
    [EVERYTHING, "Everything recorded", "outside of steps, too"],
  ] as const;
  const longest = steps.reduce<StepInfo | null>(
    (best, step) => (best === null || step.dur_ns > best.dur_ns ? step : best),
    null,
  );
  return (
    <div className="step-menu" role="dialog" aria-label="Choose steps">
      {words.map(([key, text, hint]) => (
        <button
          key={key}
          type="button"
          className="option"
          aria-pressed={parameter === key}
          onClick={() => onChoose(key)}
        >
          <span className="tick">{parameter === key ? <CheckIcon /> : null}</span>
          <span className="grow">{text}</span>
          <span className="hint">{hint}</span>
        </button>
      ))}
      {longest === null ? null : (
        <button
          type="button"
          className="option"
          onClick={() => onChoose(oneStep(steps, longest.index))}
        >
          <span className="tick" />
          <span className="grow">The longest, step {longest.number}</span>
          <span className="hint">{time(longest.dur_ns)}</span>
        </button>
      )}
      <hr />
      <TypedRange steps={steps} onChoose={onChoose} />
      <p className="hint step-note">
        <LeftOut steps={steps} />
      </p>
      <p className="hint step-note">
        <kbd>[</kbd> <kbd>]</kbd> previous and next step · drag over the bars for a range
      </p>
    </div>
  );
}
