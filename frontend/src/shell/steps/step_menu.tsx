/** The choice of steps in words: all, all but warm-up, or a typed range. */
import { type FormEvent, useState } from "react";
import type { StepInfo } from "../../api/types.gen";
import {
  ALL_STEPS,
  chosenIndexes,
  DEFAULT_STEPS,
  EVERYTHING,
  inWords,
  oneStep,
  parameterOfNumbers,
  type StepNoun,
  toParameter,
} from "../../base/steps";
import { plural, time } from "../../base/text/format";
import { capital, harmless } from "../../base/text/shown_name";
import { CheckIcon } from "../../components/text/icons";

interface StepMenuProps {
  readonly noun: StepNoun;
  readonly steps: readonly StepInfo[];
  readonly parameter: string;
  readonly onChoose: (parameter: string) => void;
}

const NAMED = 4;

function LeftOut({ noun, steps }: Pick<StepMenuProps, "noun" | "steps">) {
  const [isOpen, setOpen] = useState(false);
  const reasons = steps.flatMap(({ number, excluded }) =>
    excluded === null ? [] : [`${number} (${excluded})`],
  );
  if (reasons.length === 0) {
    return <>No {noun} is left out by default: none is warm-up, none was cut off.</>;
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

function TypedRange({ noun, steps, onChoose }: Omit<StepMenuProps, "parameter">) {
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
        {inWords("Steps", noun)}
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

/** Steps of one phase of an engine, or of one batch in it. */
export interface PhaseChoice {
  readonly label: string;
  readonly indexes: ReadonlySet<number>;
}

const PHASES = ["prefill", "mixed", "decode", "idle"] as const;
/** Kinds of batches beyond which phases alone are listed. */
const BATCHES_MAX = 6;

/** The phases of an engine with their usual steps, and the batches of each where they are few. */
export function byPhase(steps: readonly StepInfo[]): readonly PhaseChoice[] {
  const usual = steps.filter(({ excluded }) => excluded === null);
  const choice = (label: string, of: readonly StepInfo[]) => ({
    label,
    indexes: new Set(of.map(({ index }) => index)),
  });
  const found = PHASES.flatMap((phase) => {
    const mine = usual.filter((step) => step.phase === phase);
    const names = [...new Set(mine.map(({ name }) => name))];
    const isListed = names.length > 1 && names.length <= BATCHES_MAX;
    const batches = isListed
      ? names.map((name) =>
          choice(
            `– ${harmless(name)}`,
            mine.filter((one) => one.name === name),
          ),
        )
      : [];
    return mine.length === 0 ? [] : [choice(capital(phase), mine), ...batches];
  });
  return found.length > 1 ? found : [];
}

export function StepMenu({ noun, steps, parameter, onChoose }: StepMenuProps) {
  const usual = chosenIndexes(steps, DEFAULT_STEPS)?.size ?? 0;
  const many = `${noun}s`;
  const words = [
    [DEFAULT_STEPS, `Without warm-up and cut-off ${many}`, plural(usual, noun)],
    [ALL_STEPS, `All ${many}`, plural(steps.length, noun)],
    [EVERYTHING, "Everything recorded", `outside of ${many}, too`],
    ...byPhase(steps).map(
      ({ label, indexes }) =>
        [toParameter(steps, indexes), label, plural(indexes.size, noun)] as const,
    ),
  ] as const;
  const longest = steps.reduce<StepInfo | null>(
    (best, step) => (best === null || step.dur_ns > best.dur_ns ? step : best),
    null,
  );
  return (
    <div className="step-menu" role="dialog" aria-label={`Choose ${many}`}>
      {words.map(([key, text, hint]) => (
        <button
          key={text}
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
          <span className="grow">
            The longest, {noun} {longest.number}
          </span>
          <span className="hint">{time(longest.dur_ns)}</span>
        </button>
      )}
      <hr />
      <TypedRange noun={noun} steps={steps} onChoose={onChoose} />
      <p className="hint step-note">
        <LeftOut noun={noun} steps={steps} />
      </p>
      <p className="hint step-note">
        <kbd>[</kbd> <kbd>]</kbd> previous and next {noun} · drag over the bars for a range
      </p>
    </div>
  );
}
