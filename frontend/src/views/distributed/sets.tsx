/** Sets of ranks side by side: the nodes of a run, and the stages of its pipelines. */
import type { Distributed, DistributedNode, PipelineStage } from "../../api/types.gen";
import { plainTable } from "../../base/text/delimited";
import { count, plural, share, time } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { CopyTable } from "../../components/controls/copy_table";
import { useSorted } from "../../components/data_table/rows";
import { type Column, DataTable, numberColumn } from "../../components/data_table/table";
import { Panel } from "../../components/states/panel";
import { EndName } from "../../components/text/code_name";
import { none } from "./lists";

interface Shown {
  readonly answer: Distributed;
  readonly isOld: boolean;
}

const known = <V,>(value: V | null, words: (value: V) => string) =>
  value === null ? none : words(value);

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
      width: 60,
      grow: 0,
      cell: (one) => String(answer.pipeline.indexOf(one)),
    },
    {
      key: "ranks",
      head: "Ranks",
      grow: 2,
      cell: ({ ranks }) => <span title={ranks}>{harmless(ranks, 60)}</span>,
    },
    numberColumn("bubble", "Bubble", ({ bubble_ns }) => known(bubble_ns, time), {
      sort: ({ bubble_ns }) => bubble_ns,
      ...help("bubble"),
    }),
    numberColumn("ratio", "Of the step", (one) => known(one.bubble_ratio, share), {
      sort: (one) => one.bubble_ratio,
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
