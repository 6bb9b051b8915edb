/**
 * Ctrl K: type the name of a view, a step, an operator, a kernel, a module, a finding, a rank, a run,
 * a setting, or of what the view can do, and be there.
 */
import { useState } from "react";
import type { Catalog, FindAnswer, NamesOfKind, TraceInfo, ViewInfo } from "../api/types.gen";
import { EVERYTHING, oneStep } from "../base/steps";
import { count, plural, share, time } from "../base/text/format";
import { harmless } from "../base/text/shown_name";
import { viewPatch } from "../components/controls/view_link";
import { Modal } from "../components/overlays/modal";
import { matches, type Option, OptionList } from "../components/overlays/option_list";
import { CodeName } from "../components/text/code_name";
import { useCommands } from "../state/commands";
import { useAddress, useEnvironment, useThemeName, useValues } from "../state/host/environment";
import { chooseEditor, EDITORS, useEditor } from "../state/host/source";
import { type Choice, patchForRun, patchForWorker } from "../state/location/choice";
import type { Patch, Values } from "../state/location/fragment";
import { canFill, usePage, useWords } from "../state/page_context";
import { type PartState, useAsked, usePart } from "../state/parts";
import { useView } from "../state/queries";
import { useSettled } from "../state/timing";

interface PaletteProps {
  readonly catalog: Catalog;
  readonly choice: Choice | null;
  readonly views: readonly ViewInfo[];
  readonly onClose: () => void;
}

interface Jump {
  readonly kind:
    | "Do"
    | "View"
    | "Step"
    | "Iteration"
    | "Operator"
    | "Annotation"
    | "Kernel"
    | "Module"
    | "Finding"
    | "Worker"
    | "Run"
    | "Setting";
  readonly name: string;
  readonly note: string;
  readonly go: Patch | (() => void);
  /** Stands above the first of its kind, with how many there are. */
  readonly group: string;
  /** It is not one thing but leads to the rest of them. */
  readonly isRest?: boolean;
  /** The palette stays open: it shows more itself. */
  readonly isInside?: boolean;
}

const STEPS_MAX = 6;
/** So long nothing is typed before the server is asked. */
const PAUSE_MS = 150;

/** What is found by name: where it leads to, and how its kind is called. */
const FOUND = {
  op: { kind: "Operator", words: "operator", calls: "call" },
  annotation: { kind: "Annotation", words: "annotation", calls: "call" },
  kernel: { kind: "Kernel", words: "kernel", calls: "launch" },
} as const;

const pluralOf = (number: number, word: string) =>
  plural(number, word, word.endsWith("ch") ? `${word}es` : `${word}s`);

/** What an address says of a name: those of kernels may be longer than any address should be. */
const SEARCH_MAX = 300;

/** Of all rows by name, the one with this key open; what was searched before is forgotten. */
function patchForName(kind: NamesOfKind["kind"], name: string, key: string): Patch {
  const search = name.slice(0, SEARCH_MAX);
  return kind === "kernel"
    ? viewPatch("kernels", { search, row: key, group: "", op: "" })
    : viewPatch("operators", { search, row: key, kinds: kind, group: "", mode: "" });
}

function jumpsToFound(found: FindAnswer | undefined, search: string): Jump[] {
  return (found?.kinds ?? []).flatMap(({ kind, names, count: total }) => {
    const words = FOUND[kind];
    const caption = `${words.kind}s`;
    const group = names.length < total ? `${caption}, ${names.length} of ${count(total)}` : caption;
    const jumps = names.map(
      ({ name, key, count: calls, total_ns }): Jump => ({
        kind: words.kind,
        name,
        note: `${pluralOf(calls, words.calls)} · ${time(total_ns)} in the recording`,
        go: patchForName(kind, name, key),
        group,
      }),
    );
    const rest: Jump = {
      kind: words.kind,
      name: `${count(total - names.length)} more`,
      note: "list them all",
      go: patchForName(kind, search, ""),
      group,
      isRest: true,
    };
    return names.length < total ? [...jumps, rest] : jumps;
  });
}

interface AllSteps {
  readonly isOpen: boolean;
  readonly open: () => void;
}

function jumpsToSteps(trace: TraceInfo | null, query: string, all: AllSteps): Jump[] {
  if (trace === null || trace.step_source === "whole_trace") {
    return [];
  }
  const { steps, noun } = trace;
  const [kind, many] =
    noun === "iteration" ? (["Iteration", "Iterations"] as const) : (["Step", "Steps"] as const);
  const hits = steps.filter(({ name, number }) => matches(`${kind} ${number} ${name}`, query));
  const typed = /\d+/.exec(query)?.[0] ?? "";
  const best = [...hits].sort(
    (a, b) => Number(`${b.number}` === typed) - Number(`${a.number}` === typed),
  );
  const shown = all.isOpen ? best : best.slice(0, STEPS_MAX);
  const left = hits.length - shown.length;
  const group = left > 0 ? `${many}, ${shown.length} of ${hits.length}` : many;
  const rest: Jump = {
    kind,
    name: `${count(left)} more`,
    note: "list them all",
    go: all.open,
    group,
    isRest: true,
    isInside: true,
  };
  const jumps = shown.map(
    ({ index, name, number, dur_ns, excluded }): Jump => ({
      kind,
      name: noun === "step" && name.includes(`${number}`) ? name : `${number} ${name}`,
      note: [time(dur_ns), excluded ?? ""].filter(Boolean).join(" · "),
      go: { steps: oneStep(steps, index) },
      group,
    }),
  );
  return left > 0 ? [...jumps, rest] : jumps;
}

function jumpsTo({ catalog, choice, views }: PaletteProps, values: Values) {
  const toViews = views.map(
    ({ stem, title, question }): Jump => ({
      kind: "View",
      name: title,
      note: question,
      go: viewPatch(stem),
      group: "Views",
    }),
  );
  const toWorkers = (choice?.run.workers ?? []).map(
    (worker): Jump => ({
      kind: "Worker",
      name: worker.name,
      note: worker.rank === null ? "" : `rank ${worker.rank}`,
      go: patchForWorker(worker, values),
      group: "Workers",
    }),
  );
  const toRuns = catalog.runs.map(
    (run): Jump => ({
      kind: "Run",
      name: run.name,
      note: run.logdir,
      go: patchForRun(run, values),
      group: "Runs",
    }),
  );
  return { toViews, toOthers: [...(toWorkers.length > 1 ? toWorkers : []), ...toRuns] };
}

const IS_CODE: readonly Jump["kind"][] = ["Operator", "Kernel", "Annotation", "Module"];

function toOption({ kind, name, note, group, isRest }: Jump, place: number): Option {
  return {
    key: String(place),
    text: `${kind} ${name} ${note}`,
    group,
    isLasting: isRest === true,
    content: (
      <>
        <span className="label jump-kind">{kind}</span>
        {IS_CODE.includes(kind) && isRest !== true ? (
          <>
            <span className="clip grow">
              <CodeName name={name} />
            </span>
            <span className="hint nowrap">{note}</span>
          </>
        ) : (
          <>
            <span className="nowrap">{harmless(name)}</span>
            <span className="hint clip grow">{harmless(note)}</span>
          </>
        )}
      </>
    ),
  };
}

const MODULES_MAX = 5;

/** Modules by name, type or path; the row is searched for, so that it is in sight. */
function useModules(search: string): Jump[] {
  const { shown } = usePage();
  const isAsked = search !== "" && canFill(shown, "modules");
  const { data } = usePart("modules/table", useAsked(), isAsked ? { search, fold: true } : null);
  const words = search.toLowerCase();
  return (isAsked ? (data?.rows ?? []) : [])
    .filter(({ name }) => name.toLowerCase().includes(words))
    .slice(0, MODULES_MAX)
    .map(({ name, calls, total_ns }) => ({
      kind: "Module",
      name,
      note: `${plural(calls, "call")} · ${time(total_ns)}`,
      go: viewPatch("modules", { search: name.replace(/ × \d+$/, "") }),
      group: "Modules",
    }));
}

/** Findings of the Overview, by their titles. */
function useFindings(): Jump[] {
  const { steps, device } = useValues();
  const { data } = useView("overview", {
    ...(steps === undefined ? {} : { steps }),
    ...(device === undefined ? {} : { device }),
  });
  return (data?.findings ?? []).map(({ id, title, gain }) => ({
    kind: "Finding",
    name: title.replaceAll("`", ""),
    note: gain === null ? "" : `up to ${share(gain.ratio)}`,
    go: viewPatch("overview", { finding: id }),
    group: "Findings",
  }));
}

/** Settings and help, from wherever the page is. */
function useSettings(): Jump[] {
  const { theme } = useEnvironment();
  const { openHelp } = usePage();
  const words = useWords();
  const other = useThemeName() === "dark" ? "light" : "dark";
  const editor = useEditor();
  const setting = (name: string, note: string, go: Jump["go"]): Jump => ({
    kind: "Setting",
    name,
    note,
    go,
    group: "Settings and help",
  });
  return [
    ...(theme.isHosted ? [] : [setting(`Use the ${other} theme`, "theme", theme.toggle)]),
    setting("Count everything recorded", words("outside of steps, too"), { steps: EVERYTHING }),
    setting(words("Count the usual steps"), words("without warm-up and cut-off steps"), {
      steps: undefined,
    }),
    ...EDITORS.filter(([key]) => key !== editor).map(([key, name]) =>
      setting(`Frames open in ${name}`, "editor", () => chooseEditor(key)),
    ),
    setting("Keys and help", "?", openHelp),
  ];
}

/** Names of the open recording, as the server finds them; whether it still prepares them. */
function useFound(query: string) {
  const { shown } = usePage();
  const trace = shown?.trace ?? null;
  const isThere =
    trace?.views.some(({ stem, unavailable }) => stem === "operators" && unavailable === null) ??
    false;
  // "kernel gemm" means kernels, but no name holds that word.
  const words = query.trim().replace(/^(operator|annotation|kernel)\s+/i, "");
  const search = useSettled(words, PAUSE_MS).slice(0, SEARCH_MAX);
  const asked = useAsked();
  const isAsked = isThere && asked.digest !== "" && search !== "";
  const part = usePart("operators/find", asked, isAsked ? { search } : null, true);
  // Nothing typed finds nothing, whatever was found before.
  const found = isAsked && words !== "" ? part.data : undefined;
  return { found, search, status: isAsked ? statusOf(part) : "", trace };
}

function statusOf({ data, reading, problem }: PartState<FindAnswer>): string {
  if (reading !== null) {
    return "The names of this recording are being prepared: operators and kernels follow.";
  }
  if (problem !== null) {
    return "Operators and kernels cannot be searched now.";
  }
  return data === undefined ? "Looking for operators and kernels…" : "";
}

export function Palette(props: PaletteProps) {
  const address = useAddress();
  const values = useValues();
  const [query, setQuery] = useState("");
  const [allSteps, showAllSteps] = useState(false);
  const { found, search, status, trace } = useFound(query);
  const acts = useCommands().map(
    ({ title, keys, run }): Jump => ({
      kind: "Do",
      name: title,
      note: keys.join("  "),
      go: run,
      group: "Commands",
    }),
  );
  const { toViews, toOthers } = jumpsTo(props, values);
  const modules = useModules(search);
  const findings = useFindings();
  const settings = useSettings();
  const named =
    query.trim() === ""
      ? []
      : [
          ...jumpsToSteps(trace, query, { isOpen: allSteps, open: () => showAllSteps(true) }),
          ...jumpsToFound(found, search),
          ...modules,
          ...findings,
        ];
  const jumps = [...toViews, ...named, ...toOthers, ...acts, ...settings];
  return (
    <Modal title="Search or jump" width={640} onClose={props.onClose}>
      <OptionList
        label="Places"
        isSearchable
        placeholder={
          trace === null
            ? "A run, a worker, a view or a setting"
            : `An operator, module, finding, ${trace.noun}, rank, view${acts.length > 0 ? ", command" : ""} or setting`
        }
        options={jumps.map(toOption)}
        onQuery={setQuery}
        status={status}
        onPick={(key) => {
          const jump = jumps[Number(key)];
          if (jump?.isInside !== true) {
            props.onClose();
          }
          if (typeof jump?.go === "function") {
            jump.go();
          } else if (jump !== undefined) {
            address.navigate(jump.go);
          }
        }}
      />
    </Modal>
  );
}
