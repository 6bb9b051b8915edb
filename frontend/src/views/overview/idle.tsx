/** What the device waited for: its longest gaps, who kept it waiting, the critical path, launches. */
import type {
  CriticalPathAnswer,
  IdleFigure,
  IdleGap,
  IdleQuery,
  Overview,
  PathRow,
} from "../../api/types.gen";
import { plainTable } from "../../base/text/delimited";
import { count, share, time } from "../../base/text/format";
import { Swatch } from "../../components/charts/category";
import { CopyTable } from "../../components/controls/copy_table";
import { Segmented } from "../../components/controls/segmented";
import { ViewLink, viewPatch } from "../../components/controls/view_link";
import { useSorted } from "../../components/data_table/rows";
import { type Column, DataTable, numberColumn } from "../../components/data_table/table";
import { FlameGraph } from "../../components/flame_graph/flame_graph";
import { Panel } from "../../components/states/panel";
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
  gaps: "each with its cause, and the call that held the device longest in it",
  flame: "idle time of the device by the calls that kept it waiting",
  path: "the longest chain through host, launches and device; its parts sum to the steps",
  figures: "what a launch costs, and what is exposed of copies and collectives",
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
  const hasSteps = overview.noun === "step";
  const isIdleKnown = hasDevice && overview.ruler.idle_ns !== null;
  const tabs = TABS.filter(
    ([key]) => key === "path" || (key === "figures" ? hasDevice : isIdleKnown),
  );
  const asked = values["overview.idle"];
  const shown = tabs.find(([key]) => key === asked)?.[0] ?? tabs[0]?.[0] ?? "path";
  return (
    <Panel
      title={
        isIdleKnown
          ? "What the device waited for"
          : `What makes the ${overview.noun} as long as it is`
      }
      hint={WORDS[shown].replace("the steps", hasSteps ? "the steps" : "the recording")}
      isOld={isOld}
      className="idle-panel"
      hasBody={shown === "flame"}
      controls={
        <>
          {shown === "gaps" ? (
            <CopyTable label="the longest gaps" table={() => gapsTable(overview.gaps)} />
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
      {shown === "gaps" ? <Gaps gaps={overview.gaps} hasSteps={hasSteps} isOld={isOld} /> : null}
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

const gapColumns: readonly Column<IdleGap>[] = [
  numberColumn("dur_ns", "Length", (gap) => time(gap.dur_ns), {
    help: "How long the device ran nothing.",
    sort: (gap) => gap.dur_ns,
    grow: 0,
    width: 76,
  }),
  {
    key: "cause",
    head: "Cause",
    help: "What is most of the gap; the rest has causes of its own.",
    sort: (gap) => gap.cause,
    width: 180,
    cell: (gap) => (
      <span className="row" title={gap.cause}>
        <Swatch category={gap.category} ghost />
        <span className="clip">{gap.cause}</span>
      </span>
    ),
  },
  numberColumn("cause_ns", "Of it", (gap) => share(gap.cause_ns / gap.dur_ns), {
    help: "The part of the gap that has this cause.",
    sort: (gap) => gap.cause_ns / gap.dur_ns,
    grow: 0,
    width: 60,
  }),
  {
    key: "held",
    head: "Held by",
    help: "The event that held the device longest in the gap.",
    sort: (gap) => gap.held,
    grow: 3,
    width: 160,
    cell: (gap) => <Held gap={gap} />,
  },
  numberColumn("held_ns", "For", (gap) => (gap.held === "" ? "" : time(gap.held_ns)), {
    help: "How long it was the innermost event open, in the gap.",
    sort: (gap) => gap.held_ns,
    grow: 0,
    width: 76,
  }),
  {
    key: "frame",
    head: "At",
    help: "The innermost line of your code around it, else of any code; needs recorded stacks.",
    sort: (gap) => gap.frame,
    grow: 3,
    width: 140,
    cell: (gap) =>
      gap.frame === "" && gap.op === "" ? (
        <span className="dim">–</span>
      ) : (
        <CodeName name={gap.frame || gap.op} />
      ),
  },
  {
    key: "following",
    head: "Then",
    help: "The work that ended the gap.",
    sort: (gap) => gap.following,
    grow: 2,
    width: 120,
    cell: (gap) =>
      gap.following === "" ? (
        <span className="dim">nothing</span>
      ) : (
        <CodeName name={gap.following} />
      ),
  },
  {
    key: "step",
    head: "Step",
    help: "The step in which it lies; leads to it in Trace.",
    sort: (gap) => gap.ts,
    grow: 0,
    width: 54,
    isNumeric: true,
    cell: (gap) => (
      <ViewLink stem={gap.link.view} params={gap.link.params} title={gap.link.text}>
        {gap.step}
      </ViewLink>
    ),
  },
];

const gapsTable = plainTable<IdleGap>([
  "step",
  "ts",
  "dur_ns",
  "cause",
  "cause_ns",
  "held",
  "held_ns",
  "op",
  "frame",
  "following",
]);

interface GapsProps {
  readonly gaps: readonly IdleGap[];
  readonly hasSteps: boolean;
  readonly isOld: boolean;
}

function Gaps({ gaps, hasSteps, isOld }: GapsProps) {
  const address = useAddress();
  const columns = hasSteps ? gapColumns : gapColumns.filter(({ key }) => key !== "step");
  const sorted = useSorted(gaps, columns, { key: "dur_ns", isDown: true });
  return (
    <DataTable
      label="Longest gaps"
      columns={columns}
      {...sorted}
      keyOf={(gap) => gap.ts}
      toPlain={gapsTable}
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

const pathColumns: readonly Column<PathRow>[] = [
  {
    key: "label",
    head: "Kind",
    help: "What the part of the path is: ops, kernels, launches, waiting.",
    sort: (row) => row.label,
    width: 150,
    cell: (row) => <span title={row.label}>{row.label}</span>,
  },
  {
    key: "name",
    head: "Name",
    help: "The event of which it is a part.",
    sort: (row) => row.name,
    grow: 4,
    width: 200,
    cell: (row) => <CodeName name={row.name} />,
  },
  numberColumn("ns", "On the path", (row) => time(row.ns), {
    sort: (row) => row.ns,
    width: 90,
    help: "Its parts of the longest chain, added up. All rows sum to the steps.",
  }),
  numberColumn("ratio", "Share", (row) => share(row.ratio), {
    sort: (row) => row.ratio,
    help: "Of the length of the chosen steps.",
  }),
  numberColumn("count", "Parts", (row) => count(row.count), {
    sort: (row) => row.count,
    help: "How many pieces of the chain it is.",
  }),
  numberColumn(
    "slack_ns",
    "Slack",
    (row) => (row.slack_ns === null ? <span className="dim">–</span> : time(row.slack_ns)),
    {
      help: "How much shorter a part of it can get at most, until another chain is the longer one.",
      sort: (row) => row.slack_ns,
      width: 90,
    },
  ),
  numberColumn(
    "longest_ns",
    "Longest",
    (row) => (
      <ViewLink stem={row.link.view} params={row.link.params} title={row.link.text}>
        {time(row.longest_ns)}
      </ViewLink>
    ),
    {
      sort: (row) => row.longest_ns,
      width: 80,
      help: "The longest of these pieces; leads to it in Trace.",
    },
  ),
];

const pathTable = plainTable<PathRow>([
  "kind",
  "name",
  "ns",
  "ratio",
  "count",
  "slack_ns",
  "longest_ns",
]);

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

function PathTables({ path, isOld }: { path: CriticalPathAnswer; isOld: boolean }) {
  const sorted = useSorted(path.rows, pathColumns, { key: "ns", isDown: true });
  return (
    <>
      <ul className="path-shares" aria-label={`Critical path of ${time(path.total_ns)}, by kind`}>
        {path.shares.map((one) => (
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
      <DataTable
        label="Critical path by name"
        columns={pathColumns}
        {...sorted}
        keyOf={(row) => `${row.kind} ${row.name}`}
        toPlain={pathTable}
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
