/** What the step charts and their table show: the kinds of parts, and a value for each step. */
import type { Overview, StepRow } from "../../../api/types.gen";
import type { PlainTable } from "../../../base/text/delimited";
import { sum } from "../../../base/text/rounding";
import { type PartKind, partOf } from "../parts";

export interface StepParts {
  readonly title: string;
  readonly kinds: readonly PartKind[];
  /** Values of one step, in the order of the kinds; they sum to its length. */
  readonly valuesOf: (step: StepRow) => readonly number[];
}

const OVERLAP: PartKind = {
  key: "overlap_ns",
  label: "Overlapped communication",
  category: "overlap",
  ghost: false,
  help: "Compute under which communication ran.",
};

/** The step seen from the device, or from the main thread where no device was recorded. */
export function partitionParts(overview: Overview): StepParts | null {
  const { shares } = overview.ruler;
  const hasRows = overview.steps.some((step) => step.partition !== null || step.host !== null);
  if (!hasRows || shares.length === 0) {
    return null;
  }
  const title = overview.device_row === null ? "Seen from the main thread" : "Device partition";
  const hasOverlap = overview.steps.some((step) => partOf(step, OVERLAP.key) > 0);
  if (!hasOverlap) {
    return {
      title,
      kinds: shares,
      valuesOf: (step) => shares.map(({ key }) => partOf(step, key)),
    };
  }
  // Compute is drawn in two: alone, and with communication under it.
  const kinds = shares.flatMap((kind) => (kind.key === "compute_ns" ? [kind, OVERLAP] : [kind]));
  return {
    title,
    kinds,
    valuesOf: (step) =>
      kinds.map(({ key }) =>
        key === "compute_ns" ? partOf(step, key) - partOf(step, OVERLAP.key) : partOf(step, key),
      ),
  };
}

/** The step by the classic categories. */
export function breakdownParts(overview: Overview): StepParts {
  const kinds = overview.summary.slice(1).map((row) => ({ ...row, ghost: false }));
  return {
    title: "Step-time breakdown",
    kinds,
    valuesOf: (step) => kinds.map(({ key }) => step.breakdown[key] ?? 0),
  };
}

/** Kinds that are anything in any step: the rest would only fill the legend. */
export function occurring(parts: StepParts, steps: readonly StepRow[]): ReadonlySet<string> {
  const totals = parts.kinds.map((_, place) =>
    sum(steps.map((step) => parts.valuesOf(step)[place] ?? 0)),
  );
  return new Set(parts.kinds.flatMap(({ key }, place) => ((totals[place] ?? 0) > 0 ? [key] : [])));
}

export function stepsTable(parts: StepParts, steps: readonly StepRow[]): PlainTable {
  return {
    header: ["step", "dur_ns", ...parts.kinds.map(({ key }) => key), "left_out"],
    rows: steps.map((step) => [
      step.number,
      step.dur_ns,
      ...parts.valuesOf(step),
      step.excluded ?? "",
    ]),
  };
}

/** Columns that are wide enough for three figures above them. */
const ROOMY = 8;

/** Decimals of the length above a column: fewer where columns are narrow, so that none touch. */
export function totalDigits(scaled: number, steps: number): number {
  const most = steps > ROOMY ? 1 : 2;
  return scaled < 9.995 ? most : scaled < 99.95 ? most - 1 : 0;
}
