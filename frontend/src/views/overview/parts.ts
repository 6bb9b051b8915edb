/**
 * A step in parts, ready to be shown: rounded so that the shown numbers add up.
 *
 * Which parts there are, what they are called and how they are filled comes from the server.
 */
import type { Overview, Share, StepRow } from "../../api/types.gen";
import { exactTime, inScale, plural, type Scale, share, timeScale } from "../../base/text/format";
import { roundToSum, sum } from "../../base/text/rounding";
import { capital } from "../../base/text/shown_name";

export interface PartKind {
  readonly key: string;
  readonly label: string;
  readonly category: string;
  readonly ghost: boolean;
  readonly help: string;
}

/** The pale fill says that the device was idle: the name need not. */
export const shortLabel = ({ label }: PartKind): string => capital(label.replace(/^Idle: /, ""));

export interface Part extends PartKind {
  readonly ns: number;
  /** Its share of the whole bar. */
  readonly ratio: number;
  /** In the scale of the ruler, without unit. */
  readonly time: string;
  readonly percent: string;
}

/** A sum over some parts, as shown. */
export interface Sum {
  readonly ratio: number;
  readonly time: string;
  readonly percent: string;
}

export interface RulerModel {
  readonly total_ns: number;
  readonly scale: Scale;
  readonly parts: readonly Part[];
  readonly busy: Sum;
  readonly idle: Sum;
  /** Part of compute under which communication ran, as a share of the whole. */
  readonly overlap_ns: number;
  /** "Parts sum to 1,065,553 µs exactly" */
  readonly proof: string;
  /** "6 steps"; "" where one was recorded. */
  readonly steps: string;
  readonly isProven: boolean;
}

export type RulerMode = "mean" | "median" | "worst";

/** The partition of a row that the ruler's parts are fields of. */
function fieldsOf(row: StepRow): Readonly<Record<string, number | null>> {
  return row.partition ?? row.host ?? {};
}

export const partOf = (row: StepRow, key: string): number => fieldsOf(row)[key] ?? 0;

const QUANTUM = 0.001;

function shownTime(ns: number, rounded: number, scale: Scale): string {
  if (ns > 0 && rounded === 0) {
    return `< ${inScale(scale.unit.size * 10 ** -scale.decimals, scale)}`;
  }
  return inScale(rounded, scale);
}

/** Parts that are remainders by definition: rounding may take from them what does not add up. */
export const isRemainder = ({ key }: { readonly key: string }): boolean =>
  /unattributed|uninstrumented|^other|^unknown/.test(key);

/**
 * Rounds busy and idle to the whole, then the parts of each to what is shown of it.
 *
 * On the host there is no idle but what nothing was recorded of: that part gives way, or else Python,
 * so that all others stay what the sentence above says of them.
 */
function rounded(values: readonly number[], kinds: readonly PartKind[], quantum: number) {
  if (kinds.every((kind) => kind.ghost === isRemainder(kind))) {
    const rest = kinds.findIndex(isRemainder);
    const enough = (values[rest] ?? 0) > 2 * quantum;
    const slack = enough ? rest : kinds.findIndex(({ key }) => key === "python_ns");
    const parts = roundToSum(values, quantum, { slack });
    const idle = rest < 0 ? 0 : (parts[rest] ?? 0);
    return { parts, busy: sum(parts) - idle, idle };
  }
  const busy = sum(values.filter((_, place) => kinds[place]?.ghost === false));
  const groups = roundToSum([busy, sum(values) - busy], quantum);
  const parts = new Array<number>(values.length).fill(0);
  for (const [group, isGhost] of [false, true].entries()) {
    const places = kinds.flatMap((kind, place) => (kind.ghost === isGhost ? [place] : []));
    const slack = places.findIndex((place) => {
      const kind = kinds[place];
      return kind !== undefined && isRemainder(kind);
    });
    const shares = roundToSum(
      places.map((place) => values[place] ?? 0),
      quantum,
      { whole: groups[group] ?? 0, slack },
    );
    places.forEach((place, at) => {
      parts[place] = shares[at] ?? 0;
    });
  }
  return { parts, busy: groups[0] ?? 0, idle: groups[1] ?? 0 };
}

interface Measured extends PartKind {
  readonly ns: number;
}

/** Rounds all parts together, so that neither times nor shares lose anything. */
export function shown(
  measured: readonly Measured[],
): Pick<RulerModel, "parts" | "busy" | "idle" | "scale" | "total_ns"> {
  const values = measured.map((part) => part.ns);
  const total_ns = sum(values);
  const scale = timeScale(total_ns);
  const ratios = values.map((ns) => (total_ns === 0 ? 0 : ns / total_ns));
  const times = rounded(values, measured, scale.unit.size * 10 ** -scale.decimals);
  const percents = rounded(ratios, measured, QUANTUM);
  const ratioOf = (isGhost: boolean) =>
    sum(ratios.filter((_, place) => measured[place]?.ghost === isGhost));
  const parts = measured.map((part, place) => ({
    ...part,
    ratio: ratios[place] ?? 0,
    time: shownTime(part.ns, times.parts[place] ?? 0, scale),
    percent: share((percents.parts[place] ?? 0) || Math.min(ratios[place] ?? 0, QUANTUM / 4)),
  }));
  return {
    parts,
    busy: {
      ratio: ratioOf(false),
      time: inScale(times.busy, scale),
      percent: share(percents.busy),
    },
    idle: { ratio: ratioOf(true), time: inScale(times.idle, scale), percent: share(percents.idle) },
    scale,
    total_ns,
  };
}

/** What was proven is said; should the parts miss the whole, that is said instead. */
function proofOf(
  steps: readonly StepRow[],
  shares: readonly Share[],
  recorded: readonly StepRow[],
): Pick<RulerModel, "steps" | "proof" | "isProven"> {
  const whole = sum(steps.map((step) => step.dur_ns));
  const parts = sum(steps.flatMap((step) => shares.map(({ key }) => partOf(step, key))));
  const name = steps.length === 1 ? `step ${steps[0]?.number}` : plural(steps.length, "step");
  const isProven = parts === whole;
  return {
    steps: recorded.length === 1 ? "" : name,
    isProven,
    proof: isProven
      ? `Parts sum to ${exactTime(whole)} exactly`
      : `Parts sum to ${exactTime(parts)}, not to ${exactTime(whole)}`,
  };
}

function chosenByLength(overview: Overview): StepRow[] {
  return overview.steps.filter((step) => step.chosen).sort((a, b) => a.dur_ns - b.dur_ns);
}

/** The step that a mode shows; null = the mean of all chosen. */
export function stepOf(overview: Overview, mode: RulerMode): StepRow | null {
  const chosen = chosenByLength(overview);
  if (mode === "mean" || chosen.length < 2) {
    return null;
  }
  return chosen.at(mode === "worst" ? -1 : Math.floor((chosen.length - 1) / 2)) ?? null;
}

export function rulerModel(overview: Overview, mode: RulerMode): RulerModel {
  const { shares, overlap_ns } = overview.ruler;
  const step = stepOf(overview, mode);
  const measured = shares.map((part) => ({
    ...part,
    ns: step === null ? part.mean_ns : partOf(step, part.key),
  }));
  return {
    ...shown(measured),
    overlap_ns: step === null ? (overlap_ns ?? 0) : partOf(step, "overlap_ns"),
    ...proofOf(step === null ? chosenByLength(overview) : [step], shares, overview.steps),
  };
}
