/** The keys that work everywhere. */
import type { TraceInfo, ViewInfo } from "../api/types.gen";
import { copyText } from "../base/clipboard";
import { chosenIndexes, neighbour } from "../base/steps";
import { viewPatch } from "../components/view_link";
import { type Choice, choiceValues } from "../state/choice";
import { useAddress } from "../state/environment";
import { type KeyMap, useKeys } from "../state/keys";

interface PageKeys {
  readonly views: readonly ViewInfo[];
  readonly view: string;
  readonly choice: Choice | null;
  readonly trace: TraceInfo | null;
  readonly openPalette: () => void;
  readonly openHelp: () => void;
  readonly say: (words: string) => void;
}

function focusFilter(): void {
  document.querySelector<HTMLInputElement>("[data-filter]")?.focus();
}

export function usePageKeys(page: PageKeys): void {
  const address = useAddress();
  const { views, view, choice, trace } = page;

  const walk = (by: 1 | -1) => {
    const steps = trace?.steps ?? [];
    const chosen = chosenIndexes(steps, address.get()["steps"] ?? "");
    const target = chosen === null ? null : neighbour(steps, chosen, by);
    if (target !== null) {
      address.replace({ steps: target });
    }
  };
  const copyLink = async () => {
    const link = address.href({ view, ...(choice === null ? {} : choiceValues(choice)) });
    page.say((await copyText(link)) ? "Link copied" : "Copying is not allowed here");
  };
  const toViews = views.map((target): [string, () => void] => [
    `g ${target.key}`,
    () => address.navigate(viewPatch(target.stem)),
  ]);
  const keys: KeyMap = {
    ...Object.fromEntries(toViews),
    "mod+k": page.openPalette,
    "?": page.openHelp,
    "/": focusFilter,
    "[": () => walk(-1),
    "]": () => walk(1),
    Escape: () => address.replace({ steps: undefined }),
    l: () => {
      copyLink();
    },
  };
  useKeys(keys);
}
