import { type ReactNode, useCallback, useState } from "react";
import { partUrl } from "../../api/routes";
import type { Flame, FlameGraphQuery, FlameMetric, FlameNode } from "../../api/types.gen";
import { plural } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { SearchField } from "../../components/controls/search_field";
import { Segmented } from "../../components/controls/segmented";
import { Select } from "../../components/controls/select";
import type { PerStep } from "../../components/data_table/per_step";
import { FlameGraph, FoldedStacks, flameValue } from "../../components/flame_graph/flame_graph";
import { matches } from "../../components/overlays/option_list";
import { ProblemNote } from "../../components/states/problem_note";
import { Prose } from "../../components/text/prose";
import { useAddress, useValues } from "../../state/host/environment";
import { type Asked, useAsked, usePart } from "../../state/parts";
import { HeaviestBoxes, SandwichLists } from "./flame_lists";

/** What the flame graph shows: weight, levels, names to stand out; and its export. */

export const LEVELS = [
  ["python,module,annotation,op,kernel", "Everything"],
  ["module,op,kernel", "Modules and ops"],
  ["annotation,op,kernel", "Annotations and ops"],
  ["python,module", "Python"],
  ["op,kernel", "Ops"],
] as const;
const WEIGHTS: readonly (readonly [FlameMetric, string])[] = [
  ["host", "Host time"],
  ["device", "Device time"],
  ["calls", "Calls"],
];

interface FlameToolsProps {
  readonly asked: Asked;
  readonly query: FlameGraphQuery;
  readonly hasDevice: boolean;
  readonly set: (patch: Readonly<Record<string, string | undefined>>) => void;
  readonly modes: ReactNode;
}

export function FlameTools({ asked, query, hasDevice, set, modes }: FlameToolsProps) {
  const search = useValues()["operators.search"] ?? "";
  const { focus: _, inverted: __, ...rest } = query;
  return (
    <div className="tools">
      <Segmented
        label="Weight"
        options={hasDevice ? WEIGHTS : WEIGHTS.filter(([key]) => key !== "device")}
        value={query.metric ?? "host"}
        onChange={(next) => set({ weight: next, focus: undefined })}
      />
      <Select
        label="Levels"
        options={LEVELS}
        value={query.levels ?? ""}
        onChange={(levels) => set({ levels, focus: undefined })}
      />
      <button
        type="button"
        className="btn quiet small"
        aria-pressed={query.inverted === true}
        title="Largest self values on top, their callers below"
        onClick={() => set({ inverted: query.inverted ? undefined : "1", focus: undefined })}
      >
        Invert
      </button>
      <SearchField
        words="Highlight by name"
        value={search}
        onChange={(text) => set({ search: text || undefined })}
      />
      <span className="grow" />
      {modes}
      <FoldedStacks
        href={partUrl("operators/folded", asked.key, asked.digest, rest)}
        metric={query.metric ?? "host"}
      />
    </div>
  );
}

/** The flame graph of the operators: weight, levels, zoom, search, sandwich, export. */

interface FlameViewProps {
  readonly steps: string;
  readonly hasDevice: boolean;
  readonly perStep: PerStep;
  readonly modes: ReactNode;
}

type Patch = Readonly<Record<string, string | undefined>>;

/** The query that the address says, and a way to change it. */
function useFlameQuery(steps: string): [FlameGraphQuery, (patch: Patch) => void] {
  const address = useAddress();
  const values = useValues();
  const focus = values["operators.focus"];
  const metric = (values["operators.weight"] ?? "host") as FlameMetric;
  const query = {
    steps,
    metric,
    // Python frames of the host say little of what a device did.
    levels: values["operators.levels"] ?? LEVELS[metric === "device" ? 1 : 0][0],
    ...(values["operators.inverted"] === "1" ? { inverted: true } : {}),
    ...(values["operators.waiting"] === "1" ? { waiting: true } : {}),
    ...(focus === undefined ? {} : { focus: Number(focus) }),
  };
  const set = (patch: Patch) =>
    address.replace(
      Object.fromEntries(Object.entries(patch).map(([key, value]) => [`operators.${key}`, value])),
    );
  return [query, set];
}

export function FlameView({ steps, hasDevice, perStep, modes }: FlameViewProps) {
  const asked = useAsked();
  const [query, setQuery] = useFlameQuery(steps);
  const { data, problem, again, isLoading } = usePart("operators/flame", asked, query, true);
  const [chosen, setChosen] = useState<FlameNode | null>(null);
  const isHit = useHits();
  const set = (patch: Patch) => {
    setChosen(null);
    setQuery(patch);
  };
  return (
    <section className="panel" aria-label="Flame graph">
      <FlameTools
        asked={asked}
        query={query}
        hasDevice={hasDevice}
        set={set}
        modes={
          <>
            {perStep.choice}
            {modes}
          </>
        }
      />
      {problem !== null ? (
        <ProblemNote problem={problem} again={again} />
      ) : data === undefined || data.missing !== "" ? (
        <p className="empty">
          <Prose text={data?.missing ?? (isLoading ? "Merging call paths…" : "")} />
        </p>
      ) : (
        <>
          <LeftOut names={data.left_out} onShow={() => set({ waiting: "1", focus: undefined })} />
          <FlameGraph
            key={`${query.metric} ${query.levels} ${query.inverted} ${query.waiting} ${steps}`}
            flame={data}
            counted="call"
            steps={perStep.steps}
            isWhole={query.inverted === true}
            focus={query.focus ?? null}
            onFocus={(node) => setQuery({ focus: node === null ? undefined : String(node) })}
            onChoose={setChosen}
            isHit={isHit}
          />
          <Lists
            asked={asked}
            flame={data}
            query={query}
            chosen={chosen}
            steps={perStep.steps}
            set={set}
          />
        </>
      )}
    </section>
  );
}

/** Threads that only wait: named, and shown on demand. */
function LeftOut({ names, onShow }: { names: readonly string[]; onShow: () => void }) {
  return names.length === 0 ? null : (
    <p className="hint left-out">
      {plural(names.length, "waiting thread")} left out:{" "}
      {names.map((name) => harmless(name, 60)).join(", ")}{" "}
      <button type="button" className="link" onClick={onShow}>
        Show
      </button>
    </p>
  );
}

interface ListsProps {
  readonly asked: Asked;
  readonly flame: Flame;
  readonly query: FlameGraphQuery;
  readonly chosen: FlameNode | null;
  readonly steps: number;
  readonly set: (patch: Patch) => void;
}

function Lists({ asked, flame, query, chosen, steps, set }: ListsProps) {
  const { focus, inverted, min_ratio: _, ...rest } = query;
  if (flame.nodes.length === 0) {
    return null;
  }
  const words = flameValue(flame.unit, steps);
  return (
    <div className="flame-lists">
      {inverted === true ? null : (
        <HeaviestBoxes
          flame={flame}
          focus={focus ?? null}
          words={words}
          onPick={(name) => set({ search: name })}
        />
      )}
      {chosen === null || chosen.node < 0 ? (
        <p className="dim">Choose a box to see its callers and callees.</p>
      ) : (
        <SandwichLists asked={asked} query={{ ...rest, name: chosen.name }} words={words} />
      )}
    </div>
  );
}

/** Which names the search of the address finds; null without one. */
function useHits(): ((name: string) => boolean) | null {
  const search = useValues()["operators.search"] ?? "";
  const isHit = useCallback((name: string) => matches(name, search), [search]);
  return search === "" ? null : isHit;
}
