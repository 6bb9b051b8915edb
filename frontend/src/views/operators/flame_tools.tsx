/** What the flame graph shows: weight, levels, names to stand out; and its export. */
import type { ReactNode } from "react";
import { partUrl } from "../../api/routes";
import type { FlameGraphQuery, FlameMetric } from "../../api/types.gen";
import { SearchField } from "../../components/search_field";
import { Segmented } from "../../components/segmented";
import { useValues } from "../../state/environment";
import type { Asked } from "../../state/parts";

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
