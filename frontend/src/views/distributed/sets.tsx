/** Ranks side by side: each, the nodes of a run, and the stages of its pipelines. */
import { useMemo } from "react";
import type {
  Distributed,
  DistributedNode,
  DistributedRank,
  PipelineStage,
} from "../../api/types.gen";
import { textWidth } from "../../base/measure";
import { plainTable } from "../../base/text/delimited";
import { bytes, count, DASH, plural, share, time } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { CopyTable } from "../../components/controls/copy_table";
import { useSorted } from "../../components/data_table/rows";
import { type Column, DataTable, numberColumn } from "../../components/data_table/table";
import { Panel } from "../../components/states/panel";
import { EndName } from "../../components/text/code_name";
import { useValues } from "../../state/host/environment";
import { FewRows, known, none } from "./lists";
import { isMeant, rankName } from "./rank_names";

interface Shown {
  readonly answer: Distributed;
  readonly isOld: boolean;
}

const MOST_RANKS = 32;
const MOST_STATE = 260;
const STATE_FONT = '12px system-ui, "Segoe UI", Roboto, "Liberation Sans", sans-serif';

const plainNodes = plainTable<DistributedNode>([
  "name",
  "ranks",
  "count",
  "own_ns",
  "cost_ns",
  "lost_ns",
  "times_last",
  "is_late",
]);

/** What ranks of one node cost those of the others; nothing for a run on one node. */
export function Nodes({ answer, isOld }: Shown) {
  const help = (key: string) => ({ help: answer.definitions[key] ?? "" });
  const columns: readonly Column<DistributedNode>[] = [
    {
      key: "name",
      head: "Node",
      grow: 2,
      sort: ({ name }) => name,
      ...help("node"),
      cell: ({ name, is_late }) => (
        <span className="parted">
          <EndName name={name} />
          {is_late ? <span className="warn-text"> late</span> : null}
        </span>
      ),
    },
    {
      key: "ranks",
      head: "Ranks",
      help: "The ranks that run on it.",
      grow: 2,
      sort: (one) => one.count,
      cell: (one) => (
        <span title={one.ranks}>
          {harmless(one.ranks, 40)} <span className="dim">{plural(one.count, "rank")}</span>
        </span>
      ),
    },
    numberColumn("own", "Own time", ({ own_ns }) => known(own_ns, time), {
      sort: ({ own_ns }) => own_ns,
      ...help("own"),
    }),
    numberColumn("cost", "Cost other nodes", ({ cost_ns }) => time(cost_ns), {
      sort: ({ cost_ns }) => cost_ns,
      ...help("node_cost"),
    }),
    numberColumn("lost", "Lost to other nodes", ({ lost_ns }) => time(lost_ns), {
      sort: ({ lost_ns }) => lost_ns,
      ...help("node_lost"),
    }),
    numberColumn("last", "Last", ({ times_last }) => count(times_last), {
      sort: ({ times_last }) => times_last,
      help: "Collectives over several nodes that one of its ranks started last.",
    }),
  ];
  const sorted = useSorted(answer.nodes, columns, { key: "cost", isDown: true });
  if (answer.nodes.length === 0) {
    return null;
  }
  return (
    <Panel
      title="Nodes"
      hint={plural(answer.nodes.length, "node")}
      isOld={isOld}
      hasBody={false}
      controls={<CopyTable label="nodes" table={() => plainNodes(answer.nodes)} />}
    >
      <DataTable
        label="Nodes"
        columns={columns}
        {...sorted}
        keyOf={({ name }) => name}
        toPlain={plainNodes}
        empty="No node."
        isOld={isOld}
      />
    </Panel>
  );
}

const plainStages = plainTable<PipelineStage>([
  "ranks",
  "bubble_ns",
  "bubble_ratio",
  "least_ratio",
  "slack_ns",
  "waited_ratio",
]);

/** How long each stage stands idle, and whether data waits for it or it for data. */
export function Stages({ answer, isOld }: Shown) {
  const help = (key: string) => ({ help: answer.definitions[key] ?? "" });
  const columns: readonly Column<PipelineStage>[] = [
    {
      key: "stage",
      head: "Stage",
      help: "Its place in the pipeline, from 0.",
      width: 60,
      grow: 0,
      cell: (one) => String(answer.pipeline.indexOf(one)),
    },
    {
      key: "ranks",
      head: "Ranks",
      help: "The ranks of the stage.",
      grow: 2,
      cell: ({ ranks }) => <span title={ranks}>{harmless(ranks, 60)}</span>,
    },
    numberColumn("bubble", "Bubble", ({ bubble_ns }) => known(bubble_ns, time), {
      sort: ({ bubble_ns }) => bubble_ns,
      ...help("bubble"),
    }),
    numberColumn("ratio", "Of the step", (one) => known(one.bubble_ratio, share), {
      sort: (one) => one.bubble_ratio,
      help: "The bubble by the length of the step.",
    }),
    numberColumn("least", "GPipe, 1F1B", ({ least_ratio }) => known(least_ratio, share), {
      ...help("least"),
    }),
    numberColumn("slack", "Slack", ({ slack_ns }) => known(slack_ns, time), {
      sort: ({ slack_ns }) => slack_ns,
      ...help("slack"),
    }),
    numberColumn("waited", "Waited for", ({ waited_ratio }) => known(waited_ratio, share), {
      help: "Share of the messages it receives for which it waited.",
      sort: ({ waited_ratio }) => waited_ratio,
    }),
  ];
  const sorted = useSorted(answer.pipeline, columns, null);
  if (answer.pipeline.length === 0) {
    return null;
  }
  return (
    <Panel
      title="Stages of the pipeline"
      hint={plural(answer.pipeline.length, "stage")}
      isOld={isOld}
      hasBody={false}
      controls={<CopyTable label="stages" table={() => plainStages(answer.pipeline)} />}
    >
      <DataTable
        label="Stages of the pipeline"
        columns={columns}
        {...sorted}
        keyOf={({ ranks }) => ranks}
        toPlain={plainStages}
        empty="No stage."
        isOld={isOld}
      />
    </Panel>
  );
}

/** Node → process → device, and what each rank did with its step. */
const plainRanks = plainTable<DistributedRank>([
  "worker",
  "rank",
  "node",
  "process",
  "role",
  "device",
  "device_index",
  "memory_bytes",
  "capability",
  "own_ns",
  "excess_ns",
  "cost_ns",
  "inherited_ns",
  "lost_ns",
  "times_last",
  "brought_in_ns",
  "gain_ns",
  "received_bytes",
  "problem",
]);

/** Where lateness that a rank inherited is known, and there is some. */
function inheritedColumn(answer: Distributed): Column<DistributedRank>[] {
  if (answer.ranks.every(({ inherited_ns }) => (inherited_ns ?? 0) === 0)) {
    return [];
  }
  const cell = ({ inherited_ns, inherited_from }: DistributedRank) => {
    const from = inherited_from === null ? undefined : answer.ranks[inherited_from];
    return (
      <span title={from === undefined ? "" : `most of it from ${rankName(from)}`}>
        {known(inherited_ns, time)}
      </span>
    );
  };
  return [
    numberColumn("inherited", "Inherited", cell, {
      sort: ({ inherited_ns }) => inherited_ns,
      help: answer.definitions["inherited"] ?? "",
    }),
  ];
}

/** Where parts of exchanges are told. */
function receivedColumn(answer: Distributed): Column<DistributedRank>[] {
  if (answer.ranks.every(({ received_bytes }) => received_bytes === null)) {
    return [];
  }
  return [
    numberColumn("received", "Received", (one) => known(one.received_bytes, bytes), {
      sort: (one) => one.received_bytes,
      help: answer.definitions["received"] ?? "",
    }),
  ];
}

/** What must be known of a recording, where there is something: whole, while there is room for it. */
function stateColumn(answer: Distributed): Column<DistributedRank>[] {
  const longest = Math.max(...answer.ranks.map(({ problem }) => textWidth(problem, STATE_FONT)));
  if (answer.ranks.every(({ problem }) => problem === "")) {
    return [];
  }
  return [
    {
      key: "problem",
      head: "State",
      help: "Why the recording of this rank takes no part in the comparison, or what else must be known of it.",
      width: Math.min(MOST_STATE, Math.ceil(longest) + 2),
      isMain: true,
      sort: ({ problem }) => problem,
      cell: ({ problem }) => (
        <span className="warn-text" title={problem}>
          {problem}
        </span>
      ),
    },
  ];
}

/** What each rank did with its step; nothing before the first comparison. */
function figureColumns(answer: Distributed): Column<DistributedRank>[] {
  return [
    numberColumn(
      "busy",
      "Busy",
      ({ step }) => known(step, (one) => share(1 - one.idle_ns / Math.max(1, one.length_ns), 0)),
      {
        sort: ({ step }) => (step === null ? null : 1 - step.idle_ns / step.length_ns),
        help: answer.definitions["busy"] ?? "",
      },
    ),
    numberColumn("own", "Own time", ({ own_ns }) => known(own_ns, time), {
      sort: ({ own_ns }) => own_ns,
      help: answer.definitions["own"] ?? "",
    }),
    numberColumn("excess", "Beyond peers", ({ excess_ns }) => known(excess_ns, time), {
      sort: ({ excess_ns }) => excess_ns,
      help: answer.definitions["excess"] ?? "",
    }),
    numberColumn("cost", "Cost others", ({ cost_ns }) => known(cost_ns, time), {
      sort: ({ cost_ns }) => cost_ns,
      help: answer.definitions["cost"] ?? "",
    }),
    ...inheritedColumn(answer),
    numberColumn("last", "Last", ({ times_last }) => known(times_last, count), {
      sort: ({ times_last }) => times_last,
      help: answer.definitions["last"] ?? "",
    }),
    numberColumn("brought_in", "Brought in", ({ brought_in_ns }) => known(brought_in_ns, time), {
      sort: ({ brought_in_ns }) => brought_in_ns,
      help: answer.definitions["brought_in"] ?? "",
    }),
  ];
}

export function Ranks({ answer, isOld }: Shown) {
  const some = (has: (rank: DistributedRank) => boolean) => answer.ranks.some(has);
  const columns: readonly Column<DistributedRank>[] = [
    {
      key: "rank",
      head: "Rank",
      help: answer.definitions["rank"] ?? "",
      width: 64,
      grow: 0,
      sort: ({ rank }) => rank,
      cell: ({ rank }) => known(rank, String),
    },
    {
      key: "node",
      head: "Node",
      grow: 1,
      sort: ({ node }) => node,
      help: answer.definitions["node"] ?? "",
      cell: ({ node }) =>
        node === "" ? (
          <span className="dim" title="The recording names no host, nor does the worker's name.">
            {DASH}
          </span>
        ) : (
          <EndName name={node} />
        ),
    },
    ...(some(({ process }) => process !== "")
      ? [
          {
            key: "process",
            head: "Process",
            sort: (one: DistributedRank) => (one.process === "" ? null : Number(one.process)),
            help: answer.definitions["process"] ?? "",
            cell: (one: DistributedRank) => harmless(one.process) || none,
          },
        ]
      : []),
    {
      key: "worker",
      head: "Worker",
      help: answer.definitions["worker"] ?? "",
      width: 90,
      grow: 2,
      sort: ({ worker }) => worker,
      cell: ({ worker }) => <EndName name={worker} />,
    },
    ...stateColumn(answer),
    ...(some(({ role }) => role !== "")
      ? [
          {
            key: "role",
            head: "Role",
            help: answer.definitions["role"] ?? "",
            sort: (one: DistributedRank) => one.role,
            cell: (one: DistributedRank) => one.role || none,
          },
        ]
      : []),
    {
      key: "device",
      head: "Device",
      help: answer.definitions["device"] ?? "",
      width: 90,
      grow: 2,
      sort: ({ device }) => device,
      cell: ({ device, device_index, capability }) => (
        <span title={capability === "" ? "" : `compute capability ${capability}`}>
          {device === "" ? none : harmless(device)}
          {device_index === "" ? null : <span className="dim"> {device_index}</span>}
        </span>
      ),
    },
    numberColumn("memory", "Memory", ({ memory_bytes }) => known(memory_bytes, bytes), {
      sort: ({ memory_bytes }) => memory_bytes,
      help: answer.definitions["memory"] ?? "",
      width: 70,
    }),
    ...(some(({ used }) => used) ? figureColumns(answer) : []),
    ...receivedColumn(answer),
  ];
  const find = useValues()["distributed.find"] ?? "";
  const meant = useMemo(
    () => (find === "" ? answer.ranks : answer.ranks.filter((one) => isMeant(one, find))),
    [answer.ranks, find],
  );
  const sorted = useSorted(meant, columns, null);
  const all = plural(answer.ranks.length, "worker");
  return (
    <Panel
      title="Devices and ranks"
      hint={find === "" ? all : `${count(meant.length)} of ${all} for “${harmless(find, 40)}”`}
      isOld={isOld}
      hasBody={false}
      className="ranks-panel"
      controls={<CopyTable label="ranks" table={() => plainRanks(answer.ranks)} />}
    >
      <FewRows rows={sorted.rows} most={MOST_RANKS}>
        {(rows) => (
          <DataTable
            label="Devices and ranks"
            columns={columns}
            {...sorted}
            rows={rows}
            keyOf={({ worker }) => worker}
            toPlain={plainRanks}
            empty={find === "" ? "No rank." : "No such rank or node."}
            isOld={isOld}
          />
        )}
      </FewRows>
    </Panel>
  );
}
