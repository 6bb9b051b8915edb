/** The flame graph of the operators: weight, levels, zoom, search, sandwich, export. */
import { type ReactNode, useMemo, useState } from "react";
import { toProblem } from "../../api/problem";
import { partUrl } from "../../api/routes";
import type { Flame, FlameBox, FlameMetric } from "../../api/types.gen";
import { count, share, time } from "../../base/format";
import { harmless } from "../../base/shown_name";
import { FlameGraph, shortName } from "../../components/flame_graph";
import { SearchIcon } from "../../components/icons";
import { ProblemNote } from "../../components/problem_note";
import { Segmented } from "../../components/segmented";
import { useAddress, useValues } from "../../state/environment";
import { usePage } from "../../state/page_context";
import { type Asked, usePart } from "../../state/parts";
import { HeaviestBoxes, SandwichLists } from "./flame_lists";

const LEVELS = [
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

interface FlameViewProps {
  readonly steps: string;
  readonly hasDevice: boolean;
  readonly modes: ReactNode;
}

const wordsFor = (flame: Flame) => (value: number) =>
  flame.unit === "ns" ? time(value) : count(value);

export function FlameView({ steps, hasDevice, modes }: FlameViewProps) {
  const address = useAddress();
  const values = useValues();
  const { shown } = usePage();
  const asked: Asked = shown ?? { key: { run: "", worker: "", span: "" }, digest: "" };
  const metric = (values["operators.weight"] ?? "host") as FlameMetric;
  const levels = values["operators.levels"] ?? LEVELS[0][0];
  const search = values["operators.search"] ?? "";
  const focus = values["operators.focus"];
  const query = { steps, metric, levels, ...(focus === undefined ? {} : { focus: Number(focus) }) };
  const { data, problem, again, isLoading } = usePart("operators/flame", asked, query, true);
  const [chosen, setChosen] = useState<number | null>(null);
  const set = (patch: Readonly<Record<string, string | undefined>>) => {
    setChosen(null);
    address.replace(
      Object.fromEntries(Object.entries(patch).map(([key, value]) => [`operators.${key}`, value])),
    );
  };
  const box = chosen === null ? undefined : data?.boxes[chosen];
  return (
    <section className="panel" aria-label="Flame graph">
      <div className="tools">
        <Segmented
          label="Weight"
          options={hasDevice ? WEIGHTS : WEIGHTS.filter(([key]) => key !== "device")}
          value={metric}
          onChange={(next) => set({ weight: next, focus: undefined })}
        />
        <select
          aria-label="Levels"
          className="btn small"
          value={levels}
          onChange={(event) => set({ levels: event.target.value, focus: undefined })}
        >
          {LEVELS.map(([kinds, words]) => (
            <option key={kinds} value={kinds}>
              {words}
            </option>
          ))}
        </select>
        <div className="input">
          <SearchIcon />
          <input
            type="search"
            aria-label="Highlight by name"
            placeholder="Highlight by name"
            value={search}
            spellCheck={false}
            onChange={(event) => set({ search: event.target.value || undefined })}
          />
        </div>
        {focus === undefined ? null : (
          <button type="button" className="btn small" onClick={() => set({ focus: undefined })}>
            Show all
          </button>
        )}
        <span className="grow" />
        {modes}
        <a
          className="btn small quiet"
          href={partUrl("operators/folded", asked.key, asked.digest, { steps, metric, levels })}
          download={`${metric}.stacks`}
          title="One line per path: FlameGraph and speedscope read it"
        >
          Folded stacks
        </a>
      </div>
      {problem !== null ? (
        <ProblemNote problem={toProblem(problem)} again={() => again()} />
      ) : data === undefined ? (
        <p className="empty">{isLoading ? "Merging call paths…" : ""}</p>
      ) : data.missing !== "" ? (
        <p className="empty">{data.missing}</p>
      ) : (
        <Graph
          flame={data}
          search={search}
          chosen={chosen}
          onChoose={setChosen}
          onFocus={(index) => {
            const node = data.boxes[index]?.node ?? -1;
            if (node >= 0) {
              set({ focus: String(node) });
            }
          }}
        />
      )}
      {data === undefined || data.boxes.length === 0 ? null : (
        <div className="flame-lists">
          <HeaviestBoxes
            flame={data}
            words={wordsFor(data)}
            onPick={(name) => set({ search: name })}
          />
          {box === undefined || box.node < 0 ? (
            <p className="dim">Choose a box to see who calls it, and whom it calls.</p>
          ) : (
            <SandwichLists
              asked={asked}
              query={{ name: box.name, steps, metric, levels }}
              words={wordsFor(data)}
            />
          )}
        </div>
      )}
    </section>
  );
}

interface GraphProps {
  readonly flame: Flame;
  readonly search: string;
  readonly chosen: number | null;
  readonly onChoose: (index: number) => void;
  readonly onFocus: (index: number) => void;
}

function Graph({ flame, search, chosen, onChoose, onFocus }: GraphProps) {
  const words = useMemo(() => wordsFor(flame), [flame]);
  const tell = (box: FlameBox | undefined) =>
    box === undefined
      ? ""
      : `${harmless(box.name)} · ${words(box.value)}, ${share(box.value / flame.total)} · self ${words(
          box.self_value,
        )} · ${count(box.calls)} ${box.calls === 1 ? "call" : "calls"}`;
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

export { shortName };
