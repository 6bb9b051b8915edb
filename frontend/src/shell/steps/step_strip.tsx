import { type KeyboardEvent, type PointerEvent, useId, useState } from "react";
import type { StepInfo } from "../../api/types.gen";
import { inWords, type StepNoun, toParameter } from "../../base/steps";
import { time } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { walked } from "../../base/walk";

/** Steps grouped for the step strip: one bar each, or buckets when there are many. */

export const BARS_MAX = 24;

export interface Bucket {
  readonly steps: readonly StepInfo[];
  /** Length of its longest step. */
  readonly longest_ns: number;
  readonly isOutlier: boolean;
}

export function bucketsOf(steps: readonly StepInfo[]): Bucket[] {
  const size = Math.max(1, Math.ceil(steps.length / BARS_MAX));
  const buckets: Bucket[] = [];
  for (let start = 0; start < steps.length; start += size) {
    const group = steps.slice(start, start + size);
    buckets.push({
      steps: group,
      longest_ns: Math.max(...group.map((step) => step.dur_ns)),
      isOutlier: group.some((step) => step.outlier),
    });
  }
  return buckets;
}

/** How much of a bucket is chosen. */
export function chosenPart(bucket: Bucket, chosen: ReadonlySet<number>): "all" | "some" | "none" {
  const hits = bucket.steps.filter((step) => chosen.has(step.index)).length;
  if (hits === 0) {
    return "none";
  }
  return hits === bucket.steps.length ? "all" : "some";
}

/** Indexes of all steps from one bucket to another, in either direction. */
export function indexesBetween(buckets: readonly Bucket[], a: number, b: number): Set<number> {
  const range = buckets.slice(Math.min(a, b), Math.max(a, b) + 1);
  return new Set(range.flatMap((bucket) => bucket.steps.map((step) => step.index)));
}

/** The steps as a tiny bar chart of their lengths, in which to click, drag and walk. */

interface StepStripProps {
  readonly noun: StepNoun;
  readonly steps: readonly StepInfo[];
  readonly chosen: ReadonlySet<number>;
  readonly onChoose: (parameter: string) => void;
}

/** From which bar to which the reader is choosing. */
interface Drag {
  readonly from: number;
  readonly to: number;
}

function describe({ steps, longest_ns, isOutlier }: Bucket, noun: StepNoun): string {
  const [first, last] = [steps[0], steps.at(-1)];
  const name =
    steps.length === 1 ? `Step ${first?.number}` : `Steps ${first?.number}–${last?.number}`;
  const named =
    steps.length === 1 && noun === "iteration" ? `, ${harmless(first?.name ?? "")}` : "";
  const length = steps.length === 1 ? time(longest_ns) : `up to ${time(longest_ns)}`;
  const left = steps.find((step) => step.excluded !== null)?.excluded;
  const notes = [
    isOutlier ? "unlike the others" : "",
    left === undefined || left === null ? "" : `${left}, left out by default`,
  ];
  return [`${inWords(name, noun)}${named}: ${length}`, ...notes.filter((note) => note !== "")].join(
    ", ",
  );
}

/** The bar under the pointer, also when it was captured and is outside. */
function barAt(strip: HTMLElement, x: number): number {
  const { left, width } = strip.getBoundingClientRect();
  const count = strip.children.length;
  const place = Math.floor(((x - left) / Math.max(1, width)) * count);
  return Math.min(Math.max(place, 0), count - 1);
}

export function StepStrip({ noun, steps, chosen, onChoose }: StepStripProps) {
  const id = useId();
  const buckets = bucketsOf(steps);
  const longest = Math.max(1, ...buckets.map((bucket) => bucket.longest_ns));
  const firstChosen = buckets.findIndex((bucket) => chosenPart(bucket, chosen) !== "none");
  const [drag, setDrag] = useState<Drag | null>(null);
  const [anchor, setAnchor] = useState<number | null>(null);
  const [active, setActive] = useState<number | null>(null);
  const at = Math.min(active ?? Math.max(0, firstChosen), buckets.length - 1);
  const shown = drag === null ? chosen : indexesBetween(buckets, drag.from, drag.to);

  const choose = (from: number, to: number) =>
    onChoose(toParameter(steps, indexesBetween(buckets, from, to)));

  const onPointerDown = (event: PointerEvent<HTMLDivElement>) => {
    if (event.button !== 0) {
      return;
    }
    const bar = barAt(event.currentTarget, event.clientX);
    const from = event.shiftKey ? (anchor ?? at) : bar;
    event.currentTarget.setPointerCapture(event.pointerId);
    setAnchor(from);
    setDrag({ from, to: bar });
  };
  const onPointerMove = (event: PointerEvent<HTMLDivElement>) => {
    if (drag !== null) {
      setDrag({ ...drag, to: barAt(event.currentTarget, event.clientX) });
    }
  };
  const onPointerUp = () => {
    if (drag !== null) {
      setDrag(null);
      setActive(drag.to);
      choose(drag.from, drag.to);
    }
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const to = walked(event.key, at, buckets.length, ["ArrowLeft", "ArrowRight"]);
    if (to === null || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    event.preventDefault();
    const from = event.shiftKey ? (anchor ?? at) : to;
    setAnchor(from);
    setActive(to);
    choose(from, to);
  };

  return (
    <div
      className="strip"
      role="listbox"
      tabIndex={0}
      aria-label={inWords("Steps by length", noun)}
      aria-multiselectable="true"
      aria-activedescendant={`${id}-${at}`}
      onPointerDown={onPointerDown}
      onPointerMove={onPointerMove}
      onPointerUp={onPointerUp}
      onPointerCancel={() => setDrag(null)}
      onKeyDown={onKeyDown}
    >
      {buckets.map((bucket, place) => {
        const part = chosenPart(bucket, shown);
        const height = Math.round(5 + (15 * bucket.longest_ns) / longest);
        return (
          <div
            key={bucket.steps[0]?.index}
            id={`${id}-${place}`}
            role="option"
            tabIndex={-1}
            aria-selected={part !== "none"}
            aria-label={describe(bucket, noun)}
            title={describe(bucket, noun)}
            className={place === at ? "strip-step active" : "strip-step"}
          >
            <i
              className={`strip-bar ${part} ${bucket.isOutlier ? "outlier" : ""}`}
              style={{ height }}
            />
          </div>
        );
      })}
    </div>
  );
}
