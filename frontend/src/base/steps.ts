/**
 * Which steps are chosen: the `steps` parameter, its words on the page, and what dragging makes of it.
 * Everywhere a step goes by its number, as the page shows it.
 */

export interface Step {
  readonly index: number;
  readonly number: number;
  readonly excluded: string | null;
}

/** The word for a step: iterations of an engine are steps, and a recording without any is one. */
export type StepNoun = "step" | "iteration" | "recording";

/** A text of the page in the word for a step; code between backticks stays. */
export function inWords(text: string, noun: StepNoun): string {
  if (noun !== "iteration") {
    return text;
  }
  return text.replace(/`[^`]*`|\b(a )?(step)(s?)\b/gi, (found: string, article?: string) => {
    if (found.startsWith("`")) {
      return found;
    }
    const words = `${article === undefined ? "" : "an "}iteration${/s$/i.test(found) ? "s" : ""}`;
    return /^[A-Z]/.test(found) ? words.charAt(0).toUpperCase() + words.slice(1) : words;
  });
}

/** `""` = all but warm-up and incomplete ones. */
export const DEFAULT_STEPS = "";
export const ALL_STEPS = "all";
/** Beside all steps, what lies outside of any. Views that divide steps show all steps. */
export const EVERYTHING = "everything";

/** A range of steps, ends included: by number, or by place where numbers repeat. */
interface StepRange {
  readonly from: number;
  readonly to: number;
  readonly isByPlace: boolean;
}

/** Parses `3`, `2-5`, `1,4-6`, and by place `i0-2`; null where it has no meaning. */
export function parseRanges(text: string): StepRange[] | null {
  const ranges: StepRange[] = [];
  for (const piece of text.split(",")) {
    const match = /^\s*(i?)(\d{1,9})\s*(?:[-–]\s*\1?(\d{1,9})\s*)?$/.exec(piece);
    if (match === null) {
      return null;
    }
    const from = Number(match[2]);
    const to = Number(match[3] ?? match[2]);
    ranges.push({ from: Math.min(from, to), to: Math.max(from, to), isByPlace: match[1] === "i" });
  }
  return ranges;
}

const nameIn = (step: Step, { isByPlace }: StepRange) => (isByPlace ? step.index : step.number);

const within = (step: Step, range: StepRange) =>
  range.from <= nameIn(step, range) && nameIn(step, range) <= range.to;

/** Indexes of the chosen steps; null where the parameter has no meaning or hits no step. */
export function chosenIndexes(steps: readonly Step[], parameter: string): Set<number> | null {
  if (parameter === ALL_STEPS || parameter === EVERYTHING) {
    return new Set(steps.map((step) => step.index));
  }
  if (parameter === DEFAULT_STEPS) {
    const usual = steps.filter((step) => step.excluded === null);
    return new Set((usual.length > 0 ? usual : steps).map((step) => step.index));
  }
  const ranges = parseRanges(parameter);
  const hit = steps.filter((step) => ranges?.some((range) => within(step, range)));
  return hit.length > 0 ? new Set(hit.map((step) => step.index)) : null;
}

/**
 * The parameter as it is written today. Older addresses count steps from 0, whatever their numbers:
 * where an address names a number that no step has, and is one of those, it is written anew.
 */
export function currentParameter(steps: readonly Step[], parameter: string): string {
  const ranges = parseRanges(parameter);
  if (ranges === null || ranges.some(({ isByPlace }) => isByPlace)) {
    return parameter;
  }
  const ends = ranges.flatMap(({ from, to }) => [from, to]);
  const numbers = new Set(steps.map((step) => step.number));
  const isOld = !ends.every((end) => numbers.has(end)) && ends.every((end) => end < steps.length);
  if (!isOld) {
    return parameter;
  }
  const places = ranges.map((range) => ({ ...range, isByPlace: true }));
  const hit = steps.filter((step) => places.some((range) => within(step, range)));
  return toParameter(steps, new Set(hit.map((step) => step.index)));
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

/** The shortest parameter that chooses just the steps of these indexes. */
export function toParameter(steps: readonly Step[], chosen: ReadonlySet<number>): string {
  const isJust = (parameter: string) => {
    const other = chosenIndexes(steps, parameter);
    return other?.size === chosen.size && [...chosen].every((index) => other.has(index));
  };
  const numbers = steps.filter((step) => chosen.has(step.index)).map((step) => step.number);
  const places = toRanges(chosen).replace(/(^|,)/g, "$1i");
  return [DEFAULT_STEPS, ALL_STEPS, toRanges(numbers)].find(isJust) ?? places;
}

/** What a reader typed, as the shortest parameter; null where it names no step. */
export function parameterOfNumbers(steps: readonly Step[], typed: string): string | null {
  const chosen = parseRanges(typed) === null ? null : chosenIndexes(steps, typed);
  return chosen === null ? null : toParameter(steps, chosen);
}

const namesOf = new WeakMap<readonly Step[], ReadonlyMap<number, string>>();

/** What the parameter calls each step, by index: its number where no other step has that too. */
function namesByIndex(steps: readonly Step[]): ReadonlyMap<number, string> {
  const known = namesOf.get(steps);
  if (known !== undefined) {
    return known;
  }
  const counts = new Map<number, number>();
  for (const { number } of steps) {
    counts.set(number, (counts.get(number) ?? 0) + 1);
  }
  const names = new Map(
    steps.map(({ index, number }) => [
      index,
      counts.get(number) === 1 && parseRanges(`${number}`) !== null ? `${number}` : `i${index}`,
    ]),
  );
  namesOf.set(steps, names);
  return names;
}

/** The parameter that names one step, even where that is the usual choice. */
export const oneStep = (steps: readonly Step[], index: number): string =>
  namesByIndex(steps).get(index) ?? `i${index}`;

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
  return target === undefined ? null : oneStep(steps, target.index);
}
