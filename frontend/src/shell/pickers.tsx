/** The choice of run, worker and span in the context bar. */
import { type ReactNode, useMemo } from "react";
import type { Catalog, State } from "../api/types.gen";
import { ago } from "../base/text/format";
import { harmless } from "../base/text/shown_name";
import { OptionList } from "../components/overlays/option_list";
import { Popover } from "../components/overlays/popover";
import { Chevron } from "../components/text/icons";
import { useAddress, useValues } from "../state/host/environment";
import {
  bestState,
  type Choice,
  everyWorker,
  patchForRun,
  patchForSpan,
  patchForWorker,
  runState,
} from "../state/location/choice";
import type { Patch } from "../state/location/fragment";
import { newestStart, startNote } from "../state/starts";
import {
  runsBefore,
  stepTimeOfRun,
  stepTimeOfWorker,
  stepTimeTitle,
  stepTimeWords,
} from "../state/step_times";
import { placeNotes, placeTitle, rankNote, stateNote } from "./states/words";

const SEARCH_FROM = 9;
/** A name of so many letters is shown whole: long ones have room to give. */
const SHORT = 10;

interface Item {
  readonly key: string;
  readonly name: string;
  /** What the address says of it. */
  readonly patch: Patch;
  readonly notes: readonly string[];
  readonly state: State;
  /** What its name stands for, in full. */
  readonly about?: string;
  /** What its notes say, in full. */
  readonly title?: string;
}

interface PickerProps {
  readonly label: string;
  readonly value: string;
  /** What the value stands for, in full; without it the value itself. */
  readonly about?: string;
  readonly note?: string;
  /** Where there is little room, the start of the value goes: names of workers differ at their ends. */
  readonly keepsEnd?: boolean;
  readonly items: readonly Item[];
  readonly selected: string;
}

function itemContent({ name, notes, state, about = "", title = "" }: Item): ReactNode {
  const words = [...notes, stateNote(state)].filter((word) => word !== "");
  return (
    <>
      <span className="grow" title={harmless(about)}>
        {name}
      </span>
      <span className="hint nowrap" title={harmless(title)}>
        {words.join(" · ")}
      </span>
    </>
  );
}

function Picker({
  label,
  value,
  about = value,
  note = "",
  keepsEnd = false,
  items,
  selected,
}: PickerProps) {
  const address = useAddress();
  return (
    <Popover
      className={value.length <= SHORT ? "pick short" : "pick"}
      button={
        <>
          <span className="label wide-seen">{label} </span>
          <b className={keepsEnd ? "end-name" : "clip"} title={harmless(about)}>
            {keepsEnd ? <bdi dir="ltr">{value}</bdi> : value}
          </b>
          {note === "" ? null : (
            <span className="dim wide-only" title={note}>
              {" "}
              {note}
            </span>
          )}
          <Chevron />
        </>
      }
    >
      {(close) => (
        <OptionList
          label={label}
          isSearchable={items.length >= SEARCH_FROM}
          placeholder={`Search ${items.length} ${label.toLowerCase()}s`}
          options={items.map((item) => ({
            key: item.key,
            text: [item.name, item.about ?? "", ...item.notes].join(" "),
            content: itemContent(item),
            isSelected: item.key === selected,
          }))}
          onPick={(key) => {
            close();
            address.navigate(items.find((item) => item.key === key)?.patch ?? {});
          }}
        />
      )}
    </Popover>
  );
}

interface PickersProps {
  readonly choice: Choice;
}

interface RunPickerProps {
  readonly catalog: Catalog;
  /** Name of the chosen run; null where the address names none that is there. */
  readonly chosen: string | null;
}

export function RunPicker({ catalog, chosen }: RunPickerProps) {
  const values = useValues();
  const hasSeveralLogdirs = new Set(catalog.runs.map((run) => run.logdir)).size > 1;
  const before = useMemo(() => runsBefore(catalog.runs), [catalog.runs]);
  const items = [...catalog.runs]
    .sort((a, b) => b.modified - a.modified || a.name.localeCompare(b.name))
    .map((run) => {
      const step = stepTimeOfRun(run, before.get(run.name));
      return {
        key: run.name,
        name: run.name,
        patch: patchForRun(run, values),
        notes: [
          ...stepTimeWords(step),
          hasSeveralLogdirs ? run.logdir : "",
          run.workers.length > 1 ? `${run.workers.length} workers` : "",
          ago(Date.now() / 1000 - run.modified),
        ],
        state: runState(run),
        title: stepTimeTitle(step),
      };
    });
  return (
    <Picker label="Run" value={chosen ?? "choose a run"} items={items} selected={chosen ?? ""} />
  );
}

interface WorkerPickerProps extends PickersProps {
  readonly catalog: Catalog;
}

export function WorkerPicker({ catalog, choice }: WorkerPickerProps) {
  const values = useValues();
  const { captures } = choice.run;
  const before = useMemo(
    () => runsBefore(catalog.runs).get(choice.run.name),
    [catalog.runs, choice.run.name],
  );
  const whole = startNote(choice.run, choice.span.start);
  // The span beside it says the time.
  const start = choice.worker.spans.length > 1 ? whole.split(",", 1)[0] : whole;
  return (
    <Picker
      label="Worker"
      value={choice.worker.name}
      keepsEnd={true}
      about={placeTitle(choice.worker)}
      note={[rankNote(choice.worker), start].filter(Boolean).join(" · ")}
      items={everyWorker(choice.run).map((worker) => {
        const step = stepTimeOfWorker(worker, before);
        return {
          key: worker.name,
          name: worker.name,
          patch: patchForWorker(worker, values),
          notes: [
            captures.includes(worker) ? "capture of graphs" : "",
            startNote(choice.run, newestStart(worker)),
            ...stepTimeWords(step),
            ...placeNotes(worker),
            rankNote(worker),
            worker.spans.length > 1 ? `${worker.spans.length} spans` : "",
          ],
          state: bestState(worker.spans),
          about: placeTitle(worker),
          title: stepTimeTitle(step),
        };
      })}
      selected={choice.worker.name}
    />
  );
}

/** Nothing to choose where a worker was recorded once. */
export function SpanPicker({ choice }: PickersProps) {
  const { spans } = choice.worker;
  const hasSeveralStarts = new Set(spans.map((span) => span.start)).size > 1;
  if (spans.length <= 1) {
    return null;
  }
  const place = spans.findIndex((span) => span.key === choice.span.key);
  return (
    <>
      <span className="sep wide-only">/</span>
      <Picker
        label="Span"
        value={choice.span.label}
        keepsEnd={true}
        note={hasSeveralStarts ? "" : `${place + 1} of ${spans.length}`}
        items={spans.map((span) => ({
          key: span.key,
          name: span.label,
          patch: patchForSpan(span),
          notes: hasSeveralStarts ? [startNote(choice.run, span.start)] : [],
          state: span.state,
        }))}
        selected={choice.span.key}
      />
    </>
  );
}
