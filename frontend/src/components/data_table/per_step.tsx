/**
 * Sums over the chosen steps as the share of one step, which compares with the length of a step and with
 * recordings of other lengths. One choice, in the address, for all views.
 */
import type { ReactNode } from "react";
import type { Column as Head } from "../../api/types.gen";
import { plural } from "../../base/text/format";
import { useAddress, useValues } from "../../state/host/environment";
import { useWords } from "../../state/page_context";
import { Segmented } from "../controls/segmented";

export interface PerStep {
  /** What sums are divided by: 1 while the sums are chosen, and of a single step. */
  readonly steps: number;
  /** "step", or "iteration" of an engine. */
  readonly unit: string;
  /** " per step" behind such a figure; "" of sums. */
  readonly words: string;
  /** Changes between both; null where there is nothing to choose. */
  readonly choice: ReactNode;
}

/** `stepCount`: what sums add up; 0 where more is counted than steps. */
export function usePerStep(stepCount: number): PerStep {
  const address = useAddress();
  const isSum = useValues()["sums"] === "1";
  const unit = useWords()("step");
  if (stepCount < 2) {
    return { steps: 1, unit, words: "", choice: null };
  }
  return {
    steps: isSum ? 1 : stepCount,
    unit,
    words: isSum ? "" : ` per ${unit}`,
    choice: (
      <Segmented
        label="Sums are shown"
        options={[
          ["step", "Per step"],
          ["sum", `Sum of ${plural(stepCount, "step")}`],
        ]}
        value={isSum ? "sum" : "step"}
        onChange={(next) => address.replace({ sums: next === "sum" ? "1" : undefined })}
      />
    ),
  };
}

/** The same row with its sums divided. */
export function perStepRow<R>(row: R, heads: readonly Head[], steps: number): R {
  if (steps === 1) {
    return row;
  }
  const values = row as Readonly<Record<string, unknown>>;
  const sums = heads.flatMap(({ key, is_sum }): [string, number][] => {
    const value = values[key];
    return is_sum && typeof value === "number" ? [[key, value / steps]] : [];
  });
  return { ...row, ...Object.fromEntries(sums) };
}

/** Heads that say so. */
export const perStepHeads = (
  heads: readonly Head[],
  perStep: Pick<PerStep, "steps" | "unit"> | undefined,
): readonly Head[] =>
  perStep === undefined || perStep.steps === 1
    ? heads
    : heads.map((head) =>
        head.is_sum
          ? {
              ...head,
              label: `${head.label}/${perStep.unit}`,
              help: `Per ${perStep.unit}. ${head.help}`,
            }
          : head,
      );

/** The name of a column in a file. */
export const plainKey = ({ key, is_sum }: Head, steps: number): string =>
  is_sum && steps > 1 ? `${key}_per_step` : key;
