/** Which steps are chosen: the `steps` parameter, its words on the page, and what dragging makes of it. */

export interface Step {
  readonly index: number;
  readonly number: number;
  readonly excluded: string | null;
}

/** `""` = all but warm-up and incomplete ones. */
export const DEFAULT_STEPS = "";
export const ALL_STEPS = "all";

/** Parses `3`, `2-5`, `1,4-6` into inclusive ranges; null where it has no meaning. */
export function parseRanges(text: string): [number, number][] | null {
  const ranges: [number, number][] = [];
  for (const piece of text.split(",")) {
    const match = /^\s*(\d{1,9})\s*(?:[-–]\s*(\d{1,9})\s*)?$/.exec(piece);
    if (match === null) {
      return null;
    }
    const from = Number(match[1]);
    const to = Number(match[2] ?? match[1]);
    ranges.push(from <= to ? [from, to] : [to, from]);
  }
  return ranges;
}

/** Indexes of the chosen steps; null where the parameter has no meaning or hits no step. */
export function chosenIndexes(steps: readonly Step[], parameter: string): Set<number> | null {
  if (parameter === ALL_STEPS) {
    return new Set(steps.map((step) => step.index));
  }
  if (parameter === DEFAULT_STEPS) {
    const usual = steps.filter((step) => step.excluded === null);
    return new Set((usual.length > 0 ? usual : steps).map((step) => step.index));
  }
  const ranges = parseRanges(parameter);
  const hit = steps.filter((step) =>
    ranges?.some(([from, to]) => from <= step.index && step.index <= to),
  );
  return hit.length > 0 ? new Set(hit.map((step) => step.index)) : null;
}

/** `[1, 2, 3, 7]` → `1-3,7`. */
export function toRanges(values: Iterable<number>, dash = "-"): string {
  const sorted = [...new Set(values)].sort((a, b) => a - b);
  const ranges: [number, number][] = [];
  for (const value of sorted) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === value - 1) {
      last[1] = value;
    } else {
      ranges.push([value, value]);
    }
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}${dash}${to}`)).join(",");
}

/** The shortest parameter that chooses just these indexes. */
export function toParameter(steps: readonly Step[], chosen: ReadonlySet<number>): string {
  const same = (other: ReadonlySet<number> | null) =>
    other !== null && other.size === chosen.size && [...chosen].every((index) => other.has(index));
  if (same(chosenIndexes(steps, DEFAULT_STEPS))) {
    return DEFAULT_STEPS;
  }
  return same(chosenIndexes(steps, ALL_STEPS)) ? ALL_STEPS : toRanges(chosen);
}

/** What a reader types names steps by their number, `5-8`; the parameter names them by index. */
export function parameterOfNumbers(steps: readonly Step[], typed: string): string | null {
  const ranges = parseRanges(typed);
  if (ranges === null) {
    return null;
  }
  const hit = steps.filter((step) =>
    ranges.some(([from, to]) => from <= step.number && step.number <= to),
  );
  return hit.length > 0 ? toParameter(steps, new Set(hit.map((step) => step.index))) : null;
}

/** The chosen steps in words: `5–10`, `1–4, 7`, and beyond four ranges `12 steps`. */
export function describeSteps(steps: readonly Step[], chosen: ReadonlySet<number>): string {
  const numbers = steps.filter((step) => chosen.has(step.index)).map((step) => step.number);
  const ranges = toRanges(numbers, "–").split(",");
  return ranges.length > 4 ? `${chosen.size} steps` : ranges.join(", ");
}

/** The parameter after moving by one step; from several to the first or last of them. */
export function neighbour(
  steps: readonly Step[],
  chosen: ReadonlySet<number>,
  by: 1 | -1,
): string | null {
  const places = steps.flatMap((step, place) => (chosen.has(step.index) ? [place] : []));
  const from = by > 0 ? places.at(-1) : places[0];
  if (from === undefined || steps.length === 0) {
    return null;
  }
  const isSingle = places.length === 1;
  const target = steps[Math.min(Math.max(isSingle ? from + by : from, 0), steps.length - 1)];
  return target === undefined ? null : String(target.index);
}
