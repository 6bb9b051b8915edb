/** The two recordings: what they are, how long their steps take, and a way to choose others. */
import type { Catalog, Diff } from "../../api/types.gen";
import { time } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { OptionList } from "../../components/overlays/option_list";
import { Popover } from "../../components/overlays/popover";
import { Chevron } from "../../components/text/icons";
import { useAddress } from "../../state/host/environment";
import type { Patch } from "../../state/location/fragment";
import { type Shown, usePage } from "../../state/page_context";
import { newestStart, startNote } from "../../state/starts";
import { figuresOf, stepTimeOfRun, stepTimeWords } from "../../state/step_times";
import type { Base } from "./base";

interface Choice {
  readonly key: string;
  readonly words: string;
  readonly note: string;
}

interface PickProps {
  readonly label: string;
  readonly value: string;
  readonly choices: readonly Choice[];
  readonly onPick: (key: string) => void;
}

function Pick({ label, value, choices, onPick }: PickProps) {
  return (
    <Popover
      className="pick"
      label={`${label}: ${value === "" ? "choose a run" : harmless(value)}`}
      button={
        <>
          <b className="clip" title={harmless(value)}>
            {value === "" ? "choose a run" : harmless(value)}
          </b>
          <Chevron />
        </>
      }
    >
      {(close) => (
        <OptionList
          label={label}
          isSearchable={choices.length > 8}
          placeholder={`Search ${label.toLowerCase()}`}
          options={choices.map(({ key, words, note }) => ({
            key,
            text: `${words} ${note}`,
            content: (
              <>
                <span className="grow">{harmless(words)}</span>
                <span className="hint nowrap">{note}</span>
              </>
            ),
            isSelected: words === value,
          }))}
          onPick={(key) => {
            close();
            onPick(key);
          }}
        />
      )}
    </Popover>
  );
}

/** Runs, the newest first, with their step times against that of the run that is shown. */
function runChoices(catalog: Catalog, shown: string | undefined): readonly Choice[] {
  const chosen = catalog.runs.find(({ name }) => name === shown);
  return [...catalog.runs]
    .sort((a, b) => b.modified - a.modified || a.name.localeCompare(b.name))
    .map((run) => ({
      key: run.name,
      words: run.name,
      note: stepTimeWords(stepTimeOfRun(run, run === chosen ? undefined : chosen)).join(" · "),
    }));
}

const forget: Patch = {
  "diff.worker": undefined,
  "diff.span": undefined,
  "diff.steps": undefined,
  "diff.path": undefined,
};

export function BasePicker({ base }: { base: Base | null }) {
  const address = useAddress();
  const { catalog, shown } = usePage();
  const set = (patch: Patch) => address.replace({ ...patch, "diff.path": undefined });
  const workers = base?.run.workers ?? [];
  const spans = base?.worker.spans ?? [];
  return (
    <>
      <Pick
        label="Baseline run"
        value={base?.run.name ?? ""}
        choices={runChoices(catalog, shown?.key.run)}
        onPick={(run) => set({ ...forget, "diff.base": run })}
      />
      {workers.length > 1 ? (
        <Pick
          label="Baseline worker"
          value={base?.worker.name ?? ""}
          choices={workers.map((worker) => {
            const figures = figuresOf(worker);
            const words = [
              base === null ? "" : startNote(base.run, newestStart(worker)),
              figures === null ? "" : time(figures.median_ns),
            ];
            const note = words.filter((word) => word !== "").join(" · ");
            return { key: worker.name, words: worker.name, note };
          })}
          onPick={(worker) => set({ "diff.worker": worker, "diff.span": undefined })}
        />
      ) : null}
      {spans.length > 1 ? (
        <Pick
          label="Baseline span"
          value={base?.span.label ?? ""}
          choices={spans.map(({ key, label }) => ({ key, words: label, note: "" }))}
          onPick={(span) => set({ "diff.span": span })}
        />
      ) : null}
    </>
  );
}

interface SidesProps {
  readonly base: Base;
  readonly shown: Shown;
  readonly answer: Diff;
}

/** Steps of the base in words of the address; those of the other are in the bar above. */
function BaseSteps() {
  const address = useAddress();
  const value = address.get()["diff.steps"] ?? "";
  return (
    <input
      // Another text in the address is another field.
      key={value}
      className="diff-steps"
      aria-label="Steps of the baseline"
      title="Steps of the baseline by their numbers: 3, 2-5, 1,4-6; empty: all usual ones"
      placeholder="all steps"
      defaultValue={value}
      spellCheck={false}
      onBlur={(event) => address.replace({ "diff.steps": event.target.value.trim() || undefined })}
      onKeyDown={(event) => {
        if (event.key === "Enter") {
          event.currentTarget.blur();
        }
      }}
    />
  );
}

export function Sides({ base, shown, answer }: SidesProps) {
  const address = useAddress();
  const { run, worker, span } = shown.key;
  const isOneRun = base.run.name === run;
  const swap = () =>
    address.navigate({
      run: base.run.name,
      worker: base.worker.name,
      span: base.span.key,
      steps: address.get()["diff.steps"],
      device: undefined,
      "diff.base": run,
      "diff.worker": worker,
      "diff.span": span,
      "diff.steps": address.get()["steps"],
      "diff.path": undefined,
    });
  return (
    <section className="panel diff-sides" aria-label="The two recordings">
      <div className="diff-side">
        <span className="diff-tag" title="Baseline">
          A
        </span>
        <BasePicker base={base} />
        <span className="dim nowrap">{time(answer.base.median_ns)}</span>
        <BaseSteps />
      </div>
      <div className="diff-side">
        <span className="diff-tag other" title="Experiment: what is chosen above">
          B
        </span>
        <b className="clip diff-other" title={harmless(run)}>
          {harmless(isOneRun ? `${run} ${worker}` : run)}
        </b>
        <span className="dim nowrap">{time(answer.other.median_ns)}</span>
        <button type="button" className="btn quiet small" onClick={swap}>
          ⇄ Swap
        </button>
      </div>
    </section>
  );
}
