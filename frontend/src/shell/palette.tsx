/** Ctrl K: type the name of a run, a worker or a view, and be there. */
import type { Catalog, ViewInfo } from "../api/types.gen";
import { Modal } from "../components/modal";
import { type Option, OptionList } from "../components/option_list";
import { viewPatch } from "../components/view_link";
import { type Choice, patchForRun, patchForWorker } from "../state/choice";
import { useAddress, useValues } from "../state/environment";
import type { Patch, Values } from "../state/fragment";

interface PaletteProps {
  readonly catalog: Catalog;
  readonly choice: Choice | null;
  readonly views: readonly ViewInfo[];
  readonly onClose: () => void;
}

interface Jump {
  readonly kind: "View" | "Worker" | "Run";
  readonly name: string;
  readonly note: string;
  readonly patch: Patch;
}

function jumpsTo({ catalog, choice, views }: PaletteProps, values: Values): Jump[] {
  const toViews = views.map(({ stem, title, question }) => ({
    kind: "View" as const,
    name: title,
    note: question,
    patch: viewPatch(stem),
  }));
  const toWorkers = (choice?.run.workers ?? []).map((worker) => ({
    kind: "Worker" as const,
    name: worker.name,
    note: worker.rank === null ? "" : `rank ${worker.rank}`,
    patch: patchForWorker(worker, values),
  }));
  const toRuns = catalog.runs.map((run) => ({
    kind: "Run" as const,
    name: run.name,
    note: run.logdir,
    patch: patchForRun(run, values),
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
  const jumps = jumpsTo(props, useValues());
  return (
    <Modal title="Search or jump" width={560} onClose={props.onClose}>
      <OptionList
        label="Places"
        isSearchable
        placeholder="A run, a worker or a view"
        options={jumps.map(toOption)}
        onPick={(key) => {
          const jump = jumps[Number(key)];
          props.onClose();
          if (jump !== undefined) {
            address.navigate(jump.patch);
          }
        }}
      />
    </Modal>
  );
}
