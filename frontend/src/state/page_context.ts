/** What is shown right now: the server's registry, the catalog, and the chosen trace. */
import { createContext, useCallback, useContext } from "react";
import type { TraceKey, ViewStem } from "../api/routes";
import type { Catalog, Info, TraceInfo } from "../api/types.gen";
import { inWords } from "../base/steps";

/** The chosen trace, as far as it can be asked for. */
export interface Shown {
  readonly key: TraceKey;
  /** Content key of the file the figures are from; "" while it is not read yet. */
  readonly digest: string;
  /** Its name tells of a memory snapshot before `trace` does. */
  readonly file: string;
  /** null until it is known. */
  readonly trace: TraceInfo | null;
}

/** Every recording but a snapshot fills these, be it with what is missing. */
const USUAL: ReadonlySet<ViewStem> = new Set(["overview", "health"]);

/** A memory snapshot has no time, so only Memory and Health can show it. */
export const isSnapshot = (file: string): boolean => /\.(pickle|pkl)(\.gz)?$/i.test(file);

/** Whether the recording is known to fill a view: what it cannot fill is not asked for. */
export function canFill(shown: Shown | null, stem: ViewStem): boolean {
  if (shown === null || shown.trace === null) {
    return USUAL.has(stem) && !isSnapshot(shown?.file ?? "");
  }
  return shown.trace.views.some((view) => view.stem === stem && view.unavailable === null);
}

export interface Page {
  readonly info: Info;
  readonly catalog: Catalog;
  readonly shown: Shown | null;
  /** Titles of the views that can be opened, by stem. */
  readonly titles: ReadonlyMap<string, string>;
  /** Opens the list of keys. */
  readonly openHelp: () => void;
  /** Opens the list of places and commands. */
  readonly openPalette: () => void;
}

export const PageContext = createContext<Page | null>(null);

export function usePage(): Page {
  const page = useContext(PageContext);
  if (page === null) {
    throw new Error("rendered outside of the page");
  }
  return page;
}

/** Puts the page's own words into those of the shown recording: iterations for steps. */
export function useWords(): (text: string) => string {
  const noun = useContext(PageContext)?.shown?.trace?.noun ?? "step";
  return useCallback((text: string) => inWords(text, noun), [noun]);
}

/** Whether a link to a view of the shown recording leads to anything. */
export function useLeadsTo(stem: string): boolean {
  const { titles, shown } = usePage();
  return titles.has(stem) && canFill(shown, stem as ViewStem);
}
