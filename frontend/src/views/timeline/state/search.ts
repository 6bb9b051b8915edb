/** The search: which names match in all sources, how often, and where. */
import { useMemo } from "react";
import type { NameHit, SearchAnswer } from "../../../api/types.gen";
import { sum } from "../../../base/text/rounding";
import { useParts } from "../../../state/parts";
import type { Link } from "./address";
import type { Source } from "./sources";
import { useList } from "./sources";

export const DENSITY_COLUMNS = 1024;

/** One name, over all sources. */
export interface FoundName {
  readonly text: string;
  readonly kind: number;
  readonly slices: number;
  readonly total_ns: number;
}

/** Hits on the time axis of one source. */
export interface Density {
  readonly source: Source;
  readonly columns: readonly number[];
}

export interface SearchState {
  readonly text: string;
  readonly isActive: boolean;
  readonly isLoading: boolean;
  readonly problem: string;
  readonly slices: number;
  readonly nameCount: number;
  readonly names: readonly FoundName[];
  readonly densities: readonly Density[];
  /** Name codes to keep bright; null = all. */
  readonly highlight: ReadonlyMap<number, ReadonlySet<number>> | null;
  /** Hits by source and track. */
  readonly tracks: ReadonlyMap<number, Readonly<Record<string, number>>>;
}

function merged(names: readonly (readonly NameHit[])[]): readonly FoundName[] {
  const found = new Map<string, FoundName>();
  for (const { text, kind, slices, total_ns } of names.flat()) {
    const known = found.get(text) ?? { text, kind, slices: 0, total_ns: 0 };
    found.set(text, {
      ...known,
      slices: known.slices + slices,
      total_ns: known.total_ns + total_ns,
    });
  }
  return [...found.values()].sort((a, b) => b.slices - a.slices);
}

interface Found {
  readonly source: Source;
  readonly answer: SearchAnswer;
}

function stateOf(
  text: string,
  found: readonly Found[],
  rest: { isLoading: boolean; problem: string },
): SearchState {
  const answers = found.map(({ answer }) => answer);
  const names = merged(answers.map((answer) => answer.names));
  return {
    text,
    isActive: text !== "",
    ...rest,
    slices: sum(answers.map((answer) => answer.slices)),
    // Names that several sources share are counted once as far as they are listed.
    nameCount: Math.max(names.length, ...answers.map((answer) => answer.name_count)),
    names,
    densities: found.map(({ source, answer }) => ({ source, columns: answer.density })),
    highlight:
      text === "" || found.length === 0
        ? null
        : new Map(found.map(({ source, answer }) => [source.source, new Set(answer.codes)])),
    tracks: new Map(found.map(({ source, answer }) => [source.source, answer.tracks])),
  };
}

export function useSearch({ find, match, layout }: Link, sources: readonly Source[]): SearchState {
  const results = useParts(
    "timeline/search",
    find === ""
      ? []
      : sources.map((source) => ({
          asked: source,
          query: { text: find.slice(0, 400), mode: match, columns: DENSITY_COLUMNS, layout },
        })),
  );
  const answers = useList(results.map((result) => result.data));
  const isLoading = results.some((result) => result.isLoading);
  const problem = results
    .map((result) => result.data?.problem || (result.problem?.message ?? ""))
    .find((words) => words !== "");
  return useMemo(() => {
    const found = sources.flatMap((source, place): Found[] => {
      const answer = answers[place];
      return answer === undefined ? [] : [{ source, answer }];
    });
    return stateOf(find, found, { isLoading, problem: problem ?? "" });
  }, [find, sources, isLoading, problem, answers]);
}
