/** Ctrl K: type the name of a run, a worker, a view or what the view can do, and be there. */
import type { Catalog, ViewInfo } from "../api/types.gen";
import { Modal } from "../components/modal";
import { type Option, OptionList } from "../components/option_list";
import { viewPatch } from "../components/view_link";
import { type Choice, patchForRun, patchForWorker } from "../state/choice";
import { useCommands } from "../state/commands";
import { useAddress, useValues } from "../state/environment";
import type { Patch, Values } from "../state/fragment";

interface PaletteProps {
  readonly catalog: Catalog;
  readonly choice: Choice | null;
  readonly views: readonly ViewInfo[];
  readonly onClose: () => void;
}

interface Jump {
  readonly kind: "Do" | "View" | "Worker" | "Run";
  readonly name: string;
  readonly note: string;
  readonly go: Patch | (() => void);
}

function jumpsTo({ catalog, choice, views }: PaletteProps, values: Values): Jump[] {
  const toViews = views.map(({ stem, title, question }) => ({
    kind: "View" as const,
    name: title,
    note: question,
    go: viewPatch(stem),
  }));
  const toWorkers = (choice?.run.workers ?? []).map((worker) => ({
    kind: "Worker" as const,
    name: worker.name,
    note: worker.rank === null ? "" : `rank ${worker.rank}`,
    go: patchForWorker(worker, values),
  }));
  const toRuns = catalog.runs.map((run) => ({
    kind: "Run" as const,
    name: run.name,
    note: run.logdir,
    go: patchForRun(run, values),
  }));
  return [...toViews, ...(toWorkers.length > 1 ? toWorkers : []), ...toRuns];
}

function toOption({ kind, name, note }: Jump, place: number): Option {
  return {
    key: String(place),
    text: `${kind} ${name} ${note}`,
    content: (
      <>
        <span className="label jump-kind">{kind}</span>
        <span className="nowrap">{name}</span>
        <span className="hint clip grow">{note}</span>
      </>
    ),
  };
}

export function Palette(props: PaletteProps) {
  const address = useAddress();
  const acts = useCommands().map(
    ({ title, keys, run }): Jump => ({ kind: "Do", name: title, note: keys.join("  "), go: run }),
  );
  const jumps = [...jumpsTo(props, useValues()), ...acts];
  return (
    <Modal title="Search or jump" width={560} onClose={props.onClose}>
      <OptionList
        label="Places"
        isSearchable
        placeholder={
          acts.length > 0 ? "A run, a worker, a view or a command" : "A run, a worker or a view"
        }
        options={jumps.map(toOption)}
        onPick={(key) => {
          const jump = jumps[Number(key)];
          props.onClose();
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
