/** Another run of the same script is faster or slower: by how much, and a way to ask why. */
import type { RunInfo } from "../../api/types.gen";
import { harmless } from "../../base/text/shown_name";
import { useEnvironment } from "../../state/host/environment";
import type { Patch } from "../../state/location/fragment";
import { usePage } from "../../state/page_context";
import { runsBefore, stepTimeOfRun, stepTimeWords } from "../../state/step_times";

interface Hint {
  readonly words: string;
  readonly amount: string;
  readonly patch: Patch;
}

/** The newer run of the same script, if there is one, else the one before. */
export function hintFor(runs: readonly RunInfo[], shown: string): Hint | null {
  const before = runsBefore(runs);
  const own = runs.find(({ name }) => name === shown);
  const newer = runs.find(({ name }) => before.get(name)?.name === shown);
  const [base, other] = newer === undefined ? [before.get(shown), own] : [own, newer];
  if (base === undefined || other === undefined) {
    return null;
  }
  const [, amount] = stepTimeWords(stepTimeOfRun(other, base));
  if (amount === undefined) {
    return null;
  }
  return {
    words:
      newer === undefined ? `Against ${base.name}, the run before:` : `Newer run ${other.name}:`,
    amount,
    patch: {
      view: "diff",
      run: other.name,
      "diff.base": base.name,
      ...(newer === undefined ? {} : { worker: undefined, span: undefined, steps: undefined }),
    },
  };
}

export function CompareHint() {
  const { address } = useEnvironment();
  const { catalog, shown, titles } = usePage();
  const hint = shown === null || !titles.has("diff") ? null : hintFor(catalog.runs, shown.key.run);
  if (hint === null) {
    return null;
  }
  return (
    <span className="chip">
      {harmless(hint.words)} {hint.amount},{" "}
      <a
        href={address.href(hint.patch)}
        onClick={(event) => {
          if (event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
            event.preventDefault();
            address.navigate(hint.patch);
          }
        }}
      >
        why?
      </a>
    </span>
  );
}
