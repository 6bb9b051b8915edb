/** Steps grouped for the step strip: one bar each, or buckets when there are many. */
import type { StepInfo } from "../api/types.gen";

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
