/** The modules as an icicle: by device time, time of ops, time on the host, or idle time. */
import { useState } from "react";
import type {
  Flame,
  FlameNode,
  ModuleFlameQuery,
  ModuleMetric,
  Modules,
} from "../../api/types.gen";
import { share, time } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { Segmented } from "../../components/controls/segmented";
import { Select } from "../../components/controls/select";
import { ViewLink } from "../../components/controls/view_link";
import type { PerStep } from "../../components/data_table/per_step";
import { FlameGraph } from "../../components/flame_graph/flame_graph";
import { matches } from "../../components/overlays/option_list";
import { Panel } from "../../components/states/panel";
import { ProblemNote } from "../../components/states/problem_note";
import { Prose } from "../../components/text/prose";
import { useAddress, useValues } from "../../state/host/environment";
import { useAsked, usePart } from "../../state/parts";
import { callPlace } from "./cells";

const METRICS: readonly (readonly [ModuleMetric, string])[] = [
  ["device", "Device time"],
  ["op", "Time of ops"],
  ["host", "Host time"],
  ["idle", "Idle it caused"],
];
const TITLES: Readonly<Record<ModuleMetric, string>> = {
  device: "Device time by module",
  op: "Time of ops by module",
  host: "Host time of calls by module",
  idle: "Idle time of the device by the module that ended it",
};

interface IcicleProps {
  readonly answer: Modules;
  readonly steps: string;
  readonly isOld: boolean;
  readonly perStep: PerStep;
}

type Patch = Readonly<Record<string, string | undefined>>;

/** What the address says of the picture, and a way to change it. */
function useIcicleQuery(answer: Modules, steps: string) {
  const address = useAddress();
  const values = useValues();
  const [focus, root] = [values["modules.focus"], values["modules.root"]];
  const query = {
    steps,
    metric: (values["modules.metric"] ?? answer.time) as ModuleMetric,
    ...(root === undefined ? {} : { root: Number(root) }),
    ...(focus === undefined ? {} : { focus: Number(focus) }),
  };
  const set = (patch: Patch) =>
    address.replace(
      Object.fromEntries(Object.entries(patch).map(([key, value]) => [`modules.${key}`, value])),
    );
  return { query, set, search: values["modules.search"] ?? "" };
}

export function Icicle({ answer, steps, isOld, perStep }: IcicleProps) {
  const { query, set, search } = useIcicleQuery(answer, steps);
  const { data, problem, again, isLoading } = usePart("modules/flame", useAsked(), query, true);
  const missing = answer.missing["device"] ?? "";
  const needsDevice = (key: ModuleMetric) => (key === "device" || key === "idle" ? missing : "");
  return (
    <Panel
      className="module-icicle"
      title={TITLES[query.metric]}
      hint={data === undefined ? "" : `${time(data.total / perStep.steps)}${perStep.words}`}
      isOld={isOld}
      controls={
        <>
          {answer.roots.length < 2 ? null : (
            <Select
              label="Root module"
              options={[
                ["", "All modules"],
                ...answer.roots.map(({ key, name }) => [key, harmless(name)] as const),
              ]}
              value={String(query.root ?? "")}
              onChange={(next) => set({ root: next === "" ? undefined : next, focus: undefined })}
            />
          )}
          <Segmented
            label="Width"
            options={METRICS.map(([key, words]) => [key, words, needsDevice(key)])}
            value={query.metric}
            onChange={(next) => set({ metric: next, focus: undefined })}
          />
        </>
      }
    >
      {problem !== null ? (
        <ProblemNote problem={problem} again={again} />
      ) : data === undefined || data.missing !== "" || data.total === 0 ? (
        <p className="empty">
          <Prose text={data?.missing || whyEmpty(isLoading)} />
        </p>
      ) : (
        <Boxes
          key={`${query.metric} ${query.root} ${steps}`}
          flame={data}
          query={query}
          search={search}
          steps={perStep.steps}
          onFocus={(node) => set({ focus: node === null ? undefined : String(node) })}
        />
      )}
    </Panel>
  );
}

const whyEmpty = (isLoading: boolean) =>
  isLoading ? "Merging modules…" : "No module took any of this time.";

interface BoxesProps {
  readonly flame: Flame;
  readonly query: ModuleFlameQuery;
  readonly search: string;
  readonly steps: number;
  readonly onFocus: (node: number | null) => void;
}

function Boxes({ flame, query, search, steps, onFocus }: BoxesProps) {
  const [chosen, setChosen] = useState<FlameNode | null>(null);
  return (
    <>
      <FlameGraph
        flame={flame}
        counted="call"
        steps={steps}
        focus={query.focus ?? null}
        onFocus={onFocus}
        onChoose={setChosen}
        isHit={search === "" ? null : (name) => matches(name, search)}
      />
      <Chosen node={chosen} query={query} whole={flame.total} steps={steps} />
    </>
  );
}

/** The box that was pressed, and the way to its calls. */
interface ChosenProps {
  readonly node: FlameNode | null;
  readonly query: ModuleFlameQuery;
  readonly whole: number;
  readonly steps: number;
}

function Chosen({ node, query, whole, steps }: ChosenProps) {
  const asked = useAsked();
  const isModule = node !== null && node.node >= 0;
  const { data } = usePart(
    "modules/row",
    asked,
    isModule ? { module: node.node, steps: query.steps ?? "" } : null,
  );
  if (!isModule) {
    return (
      <p className="module-chosen dim">
        Press a module to see its share, and the way to its longest call.
      </p>
    );
  }
  return (
    <p className="module-chosen" role="status">
      <b className="mono">{harmless(node.name)}</b>
      <span>
        {time(node.value / steps)}, {share(whole === 0 ? 0 : node.value / whole)}; self{" "}
        {time(node.self_value / steps)}
      </span>
      {data === undefined ? null : <span className="dim">{harmless(data.path)}</span>}
      {data?.slice == null ? null : (
        <ViewLink stem="timeline" params={callPlace(data, data.slice)}>
          Call tree in Trace
        </ViewLink>
      )}
    </p>
  );
}
