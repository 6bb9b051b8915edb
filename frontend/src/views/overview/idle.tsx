/** What the device waited for: its longest gaps, who kept it waiting, the critical path, launches. */
import type {
  Column,
  CriticalPathAnswer,
  IdleFigure,
  IdleGap,
  IdleQuery,
  Overview,
  PathRow,
} from "../../api/types.gen";
import { share, time } from "../../base/text/format";
import { Swatch } from "../../components/charts/category";
import { CopyTable } from "../../components/controls/copy_table";
import { Segmented } from "../../components/controls/segmented";
import { ViewLink, viewPatch } from "../../components/controls/view_link";
import { type Cells, declaredColumns, declaredToPlain } from "../../components/data_table/declared";
import { useSorted } from "../../components/data_table/rows";
import { DataTable } from "../../components/data_table/table";
import { FlameGraph } from "../../components/flame_graph/flame_graph";
import { Panel, PanelTools } from "../../components/states/panel";
import { ProblemNote } from "../../components/states/problem_note";
import { CodeName } from "../../components/text/code_name";
import { Prose } from "../../components/text/prose";
import { useAddress, useValues } from "../../state/host/environment";
import { useAsked, usePart } from "../../state/parts";

type Shown = "gaps" | "flame" | "path" | "figures";
const TABS: readonly (readonly [Shown, string])[] = [
  ["gaps", "Longest gaps"],
  ["flame", "Flame graph"],
  ["path", "Critical path"],
  ["figures", "Launches and copies"],
];
const WORDS: Readonly<Record<Shown, string>> = {
  gaps: "by length, with cause and holder",
  flame: "idle time by the calls that kept it waiting",
  path: "the longest chain through host and device",
  figures: "cost of a launch; exposed copies and collectives",
};

interface IdleProps {
  readonly overview: Overview;
  readonly query: IdleQuery;
  readonly isOld: boolean;
}

export function Idle({ overview, query, isOld }: IdleProps) {
  const address = useAddress();
  const values = useValues();
  const hasDevice = overview.device_row !== null;
  const hasSteps = overview.noun !== "recording";
  const isIdleKnown = hasDevice && overview.ruler.idle_ns !== null;
  const tabs = TABS.filter(
    ([key]) => key === "path" || (key === "figures" ? hasDevice : isIdleKnown),
  );
  const asked = values["overview.idle"];
  const shown = tabs.find(([key]) => key === asked)?.[0] ?? tabs[0]?.[0] ?? "path";
  return (
    <Panel
      title={isIdleKnown ? "What the device waited for" : "Critical path"}
      hint={isIdleKnown ? WORDS[shown] : undefined}
      isOld={isOld}
      className="idle-panel"
      hasBody={shown === "flame"}
      controls={
        <>
          {shown === "gaps" ? (
            <CopyTable
              label="the longest gaps"
              table={() => declaredToPlain(overview.gaps_columns)(overview.gaps)}
            />
          ) : null}
          {tabs.length < 2 ? null : (
            <Segmented
              label="What of it"
              value={shown}
              options={tabs}
              onChange={(next) =>
                address.replace({
                  "overview.idle": next === "gaps" ? undefined : next,
                  "overview.idle_focus": undefined,
                })
              }
            />
          )}
        </>
      }
    >
      {shown === "gaps" ? (
        <Gaps
          heads={overview.gaps_columns}
          gaps={overview.gaps}
          hasSteps={hasSteps}
          isOld={isOld}
        />
      ) : null}
      {shown === "flame" ? <IdleFlame query={query} /> : null}
      {shown === "path" ? <CriticalPath steps={query.steps ?? ""} /> : null}
      {shown === "figures" ? <Figures figures={overview.figures} /> : null}
    </Panel>
  );
}

/** A name with its place in the code behind it, cut where there is no room. */
function Held({ gap }: { gap: IdleGap }) {
  if (gap.held === "") {
    return <span className="dim">not recorded</span>;
  }
  return (
    <span title={[gap.held, gap.op, gap.frame].filter((text) => text !== "").join("\n")}>
      <CodeName name={gap.held} />
    </span>
  );
}

const GAP_CELLS: Cells<IdleGap> = {
  step: {
    sort: (gap) => gap.start_ns,
    grow: 0,
    width: 54,
    cell: (gap) => (
      <ViewLink stem={gap.link.view} params={gap.link.params} title={gap.link.text}>
        {gap.step}
      </ViewLink>
    ),
  },
  dur_ns: { grow: 0, width: 76 },
  cause: {
    width: 180,
    cell: (gap) => (
      <span className="row" title={gap.cause}>
        <Swatch category={gap.category} ghost />
        <span className="clip">{gap.cause}</span>
      </span>
    ),
  },
  cause_ns: {
    sort: (gap) => gap.cause_ns / gap.dur_ns,
    grow: 0,
    width: 60,
    cell: (gap) => share(gap.cause_ns / gap.dur_ns),
  },
  held: { grow: 3, width: 160, cell: (gap) => <Held gap={gap} /> },
  held_ns: {
    grow: 0,
    width: 76,
    cell: (gap) => (gap.held === "" ? "" : time(gap.held_ns)),
  },
  frame: {
    grow: 3,
    width: 140,
    cell: (gap) =>
      gap.frame === "" && gap.op === "" ? (
        <span className="dim">–</span>
      ) : (
        <CodeName name={gap.frame || gap.op} />
      ),
  },
  following: {
    grow: 2,
    width: 120,
    cell: (gap) =>
      gap.following === "" ? (
        <span className="dim">nothing</span>
      ) : (
        <CodeName name={gap.following} />
      ),
  },
};

interface GapsProps {
  readonly heads: readonly Column[];
  readonly gaps: readonly IdleGap[];
  readonly hasSteps: boolean;
  readonly isOld: boolean;
}

function Gaps({ heads, gaps, hasSteps, isOld }: GapsProps) {
  const address = useAddress();
  const shown = heads.filter(({ is_minor }) => !is_minor);
  const columns = declaredColumns(shown, gaps, GAP_CELLS);
  const sorted = useSorted(gaps, columns, { key: "dur_ns", isDown: true });
  return (
    <DataTable
      label="Longest gaps"
      columns={columns}
      {...sorted}
      keyOf={(gap) => gap.start_ns}
      toPlain={declaredToPlain(heads)}
      isOld={isOld}
      empty={`The device was never idle in ${hasSteps ? "these steps" : "the recording"}.`}
      onChoose={(gap) => address.navigate(viewPatch(gap.link.view, gap.link.params))}
    />
  );
}

function IdleFlame({ query }: { query: IdleQuery }) {
  const address = useAddress();
  const focus = useValues()["overview.idle_focus"];
  const place = focus === undefined ? {} : { focus: Number(focus) };
  const { data, isLoading, problem, again } = usePart(
    "overview/idle",
    useAsked(),
    { ...query, ...place },
    true,
  );
  if (problem !== null) {
    return <ProblemNote problem={problem} again={again} />;
  }
  if (data === undefined || data.missing !== "" || data.total === 0) {
    return (
      <p className="empty">
        <Prose text={data?.missing || (isLoading ? "Merging calls…" : "No idle time.")} />
      </p>
    );
  }
  return (
    <FlameGraph
      flame={data}
      counted="call"
      focus={place.focus ?? null}
      onFocus={(node) =>
        address.replace({ "overview.idle_focus": node === null ? undefined : String(node) })
      }
      isHit={null}
    />
  );
}

const PATH_CELLS: Cells<PathRow> = {
  label: { width: 164, cell: (row) => <span title={row.label}>{row.label}</span> },
  name: { grow: 4, width: 200 },
  ns: { width: 90 },
  slack_ns: { width: 90 },
  longest_ns: {
    width: 80,
    cell: (row) => (
      <ViewLink stem={row.link.view} params={row.link.params} title={row.link.text}>
        {time(row.longest_ns)}
      </ViewLink>
    ),
  },
};

function CriticalPath({ steps }: { steps: string }) {
  const { data, isLoading, isOld, problem, again } = usePart(
    "overview/path",
    useAsked(),
    { steps },
    true,
  );
  if (problem !== null) {
    return <ProblemNote problem={problem} again={again} />;
  }
  if (data === undefined) {
    return <p className="empty">{isLoading ? "Following the longest chain…" : "No path."}</p>;
  }
  return <PathTables path={data} isOld={isOld} />;
}

/** Kinds below it are in the table alone. */
const LEAST_SHARE = 0.01;

function PathTables({ path, isOld }: { path: CriticalPathAnswer; isOld: boolean }) {
  const columns = declaredColumns(path.columns, path.rows, PATH_CELLS);
  const sorted = useSorted(path.rows, columns, { key: "ns", isDown: true });
  return (
    <>
      <ul className="path-shares" aria-label={`Critical path of ${time(path.total_ns)}, by kind`}>
        {path.shares
          .filter(({ ratio }) => ratio >= LEAST_SHARE)
          .map((one) => (
            <li key={one.kind}>
              <Swatch category={one.category} ghost={one.ghost} />
              {one.label} <b>{share(one.ratio)}</b>
            </li>
          ))}
      </ul>
      {path.note === "" ? null : (
        <p className="path-note ink2 small">
          <Prose text={path.note} />
        </p>
      )}
      <PanelTools>
        <CopyTable
          label="the critical path"
          table={() => declaredToPlain<PathRow>(path.columns)(path.rows)}
        />
      </PanelTools>
      <DataTable
        label="Critical path by name"
        columns={columns}
        {...sorted}
        keyOf={(row) => `${row.kind} ${row.name}`}
        toPlain={declaredToPlain(path.columns)}
        isOld={isOld}
        empty="The chosen steps take no time."
      />
    </>
  );
}

function Figures({ figures }: { figures: readonly IdleFigure[] }) {
  return (
    <dl className="facts idle-figures">
      {figures.map(({ label, value, help }) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>
            <b>{value}</b> <span className="ink2 small">{help}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}
