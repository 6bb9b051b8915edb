/** The steps above the ruler: each is a button that shows just that step. */
import { type KeyboardEvent, useMemo } from "react";
import type { TimelineStepMark } from "../../../api/types.gen";
import { plural, time } from "../../../base/text/format";
import { capital } from "../../../base/text/shown_name";
import { walked } from "../../../base/walk";
import { useCell } from "../../../state/cell";
import { useWords } from "../../../state/page_context";
import { useTimelineContext, viewOf } from "../state/context";
import { withMargin } from "../state/range";
import { stepTitle } from "./ruler";

const LABEL_PX = 54;
const LENGTH_PX = 140;
const LEAST_PX = 6;
/** More than any screen has room for. */
const SHOWN_MAX = 3000;

/** A step on the screen, or a run of steps too thin to be told apart. */
export interface StepBox {
  readonly key: string;
  readonly first: TimelineStepMark;
  readonly last: TimelineStepMark;
  readonly count: number;
  readonly left: number;
  readonly width: number;
}

/** The steps in view. Neighbours thinner than a finger's breadth of pixels share a box. */
export function stepBoxes(
  steps: readonly TimelineStepMark[],
  start: number,
  nsPerPx: number,
  width: number,
): readonly StepBox[] {
  const boxes: StepBox[] = [];
  for (const step of steps) {
    const left = (step.ts - start) / nsPerPx;
    const right = (step.end - start) / nsPerPx;
    if (right < 0 || left > width) {
      continue;
    }
    const before = boxes.at(-1);
    if (before !== undefined && right - left < LEAST_PX && before.width < LEAST_PX) {
      boxes[boxes.length - 1] = {
        ...before,
        last: step,
        count: before.count + 1,
        width: right - before.left,
      };
    } else {
      boxes.push({
        key: String(step.index),
        first: step,
        last: step,
        count: 1,
        left,
        width: right - left,
      });
    }
  }
  return boxes.slice(0, SHOWN_MAX);
}

/** "176 ms", or "176 ms on host" where the step is counted with more than its range there. */
export function lengthOf({ ts, end, length_ns }: TimelineStepMark): string {
  return length_ns === end - ts ? time(end - ts) : `${time(end - ts)} on host`;
}

/** A step has one length on the page; where its range on the host has another, both are said. */
export function wordsOf({ first, last, count }: StepBox): string {
  if (count > 1) {
    return `${plural(count, "step")}, ${stepTitle(first)} to ${stepTitle(last)}`;
  }
  const { ts, end, length_ns } = first;
  const step = `${capital(stepTitle(first))}, ${lengthOf(first)}`;
  return length_ns === end - ts
    ? step
    : `${step}; ${time(length_ns)} as a step, which lasts from the end of the step before to the end of the device work it launched`;
}

/** As much as fits; all of it for those who listen. */
function StepWords({ box, width }: { box: StepBox; width: number }) {
  const words = useWords();
  if (width < LABEL_PX || box.count > 1) {
    return <span className="unseen">{words(wordsOf(box))}</span>;
  }
  const { first } = box;
  return (
    <span className="clip">
      {capital(stepTitle(first))}
      <i className={width >= LENGTH_PX ? "" : "unseen"}>{lengthOf(first)}</i>
    </span>
  );
}

export function StepsBand() {
  const { sources, moving, actions } = useTimelineContext();
  const { steps } = sources[0].manifest;
  const frame = useCell(moving.frame);
  const words = useWords();
  const { start } = viewOf(frame);
  const { nsPerPx } = frame.camera;
  const boxes = useMemo(
    () => stepBoxes(steps, start, nsPerPx, frame.width),
    [steps, start, nsPerPx, frame.width],
  );
  // Of the boxes only one is a stop for Tab; arrows walk among them.
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const buttons = [...event.currentTarget.querySelectorAll("button")];
    const at = buttons.indexOf(event.target as HTMLButtonElement);
    const to = walked(event.key, at, buttons.length, ["ArrowLeft", "ArrowRight"]);
    if (to !== null && !event.shiftKey) {
      event.preventDefault();
      buttons[to]?.focus();
    }
  };
  if (steps.length === 0) {
    return <p className="tl-steps dim">{words("No step was recorded.")}</p>;
  }
  const middle = frame.width / 2;
  const current = boxes.find((box) => box.left <= middle && box.left + box.width >= middle);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the buttons within take the keys
    <div className="tl-steps" onKeyDown={onKeyDown}>
      {boxes.map((box, place) => {
        const left = Math.max(0, box.left);
        const width = Math.min(frame.width, box.left + box.width) - left - 1;
        const isCurrent = box === current;
        return (
          <button
            key={box.key}
            type="button"
            className={isCurrent ? "tl-step on" : "tl-step"}
            style={{ transform: `translateX(${left}px)`, width: Math.max(1, width) }}
            tabIndex={isCurrent || (current === undefined && place === 0) ? 0 : -1}
            title={words(`${wordsOf(box)}: press to show`)}
            onClick={() =>
              actions.show(withMargin({ start: box.first.ts, end: box.last.end }, 0.03))
            }
          >
            <StepWords box={box} width={width} />
          </button>
        );
      })}
    </div>
  );
}
