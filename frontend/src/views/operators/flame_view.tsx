import { type ReactNode, useMemo, useState } from "react";
import { toProblem } from "../../api/problem";
import { partUrl } from "../../api/routes";
import type { Flame, FlameBox, FlameGraphQuery, FlameMetric } from "../../api/types.gen";
import { count, plural, share, time } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { SearchField } from "../../components/controls/search_field";
import { Segmented } from "../../components/controls/segmented";
import { FlameGraph } from "../../components/flame_graph/flame_graph";
import { ProblemNote } from "../../components/states/problem_note";
import { Prose } from "../../components/text/prose";
import { useAddress, useValues } from "../../state/host/environment";
import { usePage } from "../../state/page_context";
import { type Asked, NOBODY, usePart } from "../../state/parts";
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
  const { focus, ...rest } = query;
  return (
    <div className="tools">
      <Segmented
        label="Weight"
        options={hasDevice ? WEIGHTS : WEIGHTS.filter(([key]) => key !== "device")}
        value={query.metric ?? "host"}
        onChange={(next) => set({ weight: next, focus: undefined })}
      />
      <select
        aria-label="Levels"
        className="btn small"
        value={query.levels}
        onChange={(event) => set({ levels: event.target.value, focus: undefined })}
      >
        {LEVELS.map(([kinds, words]) => (
          <option key={kinds} value={kinds}>
            {words}
          </option>
        ))}
      </select>
      <SearchField
        words="Highlight by name"
        value={search}
        onChange={(text) => set({ search: text || undefined })}
      />
      {focus === undefined ? null : (
        <button type="button" className="btn small" onClick={() => set({ focus: undefined })}>
          Show all
        </button>
      )}
      <span className="grow" />
      {modes}
      <a
        className="btn small quiet"
        href={partUrl("operators/folded", asked.key, asked.digest, rest)}
        download={`${query.metric ?? "host"}.stacks`}
        title="One line per path: FlameGraph and speedscope read it"
      >
        Folded stacks
      </a>
    </div>
  );
}

/** The flame graph of the operators: weight, levels, zoom, search, sandwich, export. */

interface FlameViewProps {
  readonly steps: string;
  readonly hasDevice: boolean;
  readonly modes: ReactNode;
}

const wordsFor = (flame: Flame) => (value: number) =>
  flame.unit === "ns" ? time(value) : count(value);

type Patch = Readonly<Record<string, string | undefined>>;

/** The query that the address says, and a way to change it. */
function useFlameQuery(steps: string): [FlameGraphQuery, (patch: Patch) => void] {
  const address = useAddress();
  const values = useValues();
  const focus = values["operators.focus"];
  const query = {
    steps,
    metric: (values["operators.weight"] ?? "host") as FlameMetric,
    levels: values["operators.levels"] ?? LEVELS[0][0],
    ...(focus === undefined ? {} : { focus: Number(focus) }),
  };
  const set = (patch: Patch) =>
    address.replace(
      Object.fromEntries(Object.entries(patch).map(([key, value]) => [`operators.${key}`, value])),
    );
  return [query, set];
}

export function FlameView({ steps, hasDevice, modes }: FlameViewProps) {
  const { shown } = usePage();
  const asked: Asked = shown ?? NOBODY;
  const [query, setQuery] = useFlameQuery(steps);
  const { data, problem, again, isLoading } = usePart("operators/flame", asked, query, true);
  const [chosen, setChosen] = useState<number | null>(null);
  const set = (patch: Patch) => {
    setChosen(null);
    setQuery(patch);
  };
  const onFocus = (index: number) => {
    const node = data?.boxes[index]?.node ?? -1;
    if (node >= 0) {
      set({ focus: String(node) });
    }
  };
  return (
    <section className="panel" aria-label="Flame graph">
      <FlameTools asked={asked} query={query} hasDevice={hasDevice} set={set} modes={modes} />
      {problem !== null ? (
        <ProblemNote problem={toProblem(problem)} again={() => again()} />
      ) : data === undefined || data.missing !== "" ? (
        <p className="empty">
          <Prose text={data?.missing ?? (isLoading ? "Merging call paths…" : "")} />
        </p>
      ) : (
        <>
          <Graph flame={data} chosen={chosen} onChoose={setChosen} onFocus={onFocus} />
          <Lists asked={asked} flame={data} query={query} chosen={chosen} set={set} />
        </>
      )}
    </section>
  );
}

interface ListsProps {
  readonly asked: Asked;
  readonly flame: Flame;
  readonly query: FlameGraphQuery;
  readonly chosen: number | null;
  readonly set: (patch: Patch) => void;
}

function Lists({ asked, flame, query, chosen, set }: ListsProps) {
  const { focus: _, ...rest } = query;
  const box = chosen === null ? undefined : flame.boxes[chosen];
  if (flame.boxes.length === 0) {
    return null;
  }
  const words = wordsFor(flame);
  return (
    <div className="flame-lists">
      <HeaviestBoxes flame={flame} words={words} onPick={(name) => set({ search: name })} />
      {box === undefined || box.node < 0 ? (
        <p className="dim">Choose a box to see who calls it, and whom it calls.</p>
      ) : (
        <SandwichLists asked={asked} query={{ ...rest, name: box.name }} words={words} />
      )}
    </div>
  );
}

interface GraphProps {
  readonly flame: Flame;
  readonly chosen: number | null;
  readonly onChoose: (index: number) => void;
  readonly onFocus: (index: number) => void;
}

function Graph({ flame, chosen, onChoose, onFocus }: GraphProps) {
  const search = useValues()["operators.search"] ?? "";
  const words = useMemo(() => wordsFor(flame), [flame]);
  const tell = (box: FlameBox | undefined) =>
    box === undefined
      ? ""
      : `${harmless(box.name)} · ${words(box.value)}, ${share(box.value / flame.total)} · self ${words(
          box.self_value,
        )} · ${plural(box.calls, "call")}`;
  return (
    <>
      <FlameGraph
        label="Flame graph"
        boxes={flame.boxes}
        total={flame.total}
        words={(index) => tell(flame.boxes[index])}
        valueWords={words}
        search={search}
        chosen={chosen}
        onChoose={onChoose}
        onFocus={onFocus}
      />
      {flame.merged > 0 ? (
        <p className="hint flame-merged">{count(flame.merged)} narrow boxes are merged into “…”.</p>
      ) : null}
    </>
  );
}
