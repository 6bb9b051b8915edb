/** Ranks side by side: each, the nodes of a run, and the stages of its pipelines. */
import { useMemo } from "react";
import type {
  Distributed,
  DistributedNode,
  DistributedRank,
  PipelineStage,
} from "../../api/types.gen";
import { textWidth } from "../../base/measure";
import { count, DASH, plural, share, time } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { CopyTable } from "../../components/controls/copy_table";
import {
  type Cells,
  declaredColumns,
  declaredToPlain,
  hiddenByDefault,
} from "../../components/data_table/declared";
import { useSorted } from "../../components/data_table/rows";
import { DataTable } from "../../components/data_table/table";
import { ColumnsMenu, hiddenIn } from "../../components/overlays/columns_menu";
import { Panel } from "../../components/states/panel";
import { EndName } from "../../components/text/code_name";
import { useAddress, useValues } from "../../state/host/environment";
import { FewRows, known, none } from "./lists";
import { isMeant, rankName } from "./rank_names";

interface Shown {
  readonly answer: Distributed;
  readonly isOld: boolean;
}

const MOST_RANKS = 32;
const MOST_PROBLEM = 260;
const PROBLEM_FONT = '12px system-ui, "Segoe UI", Roboto, "Liberation Sans", sans-serif';

const NODE_CELLS: Cells<DistributedNode> = {
  name: {
    grow: 2,
    cell: ({ name, is_late }) => (
      <span className="parted">
        <EndName name={name} />
        {is_late ? <span className="warn-text"> late</span> : null}
      </span>
    ),
  },
  ranks: {
    grow: 2,
    sort: (one) => one.count,
    cell: (one) => (
      <span title={one.ranks}>
        {harmless(one.ranks, 40)} <span className="dim">{plural(one.count, "rank")}</span>
      </span>
    ),
  },
};

/** What ranks of one node cost those of the others; nothing for a run on one node. */
export function Nodes({ answer, isOld }: Shown) {
  const { nodes, nodes_columns: heads } = answer;
  const columns = declaredColumns(heads, nodes, NODE_CELLS);
  const toPlain = declaredToPlain<DistributedNode>(heads);
  const sorted = useSorted(nodes, columns, { key: "cost_ns", isDown: true });
  if (answer.nodes.length === 0) {
    return null;
  }
  return (
    <Panel
      title="Nodes"
      hint={plural(answer.nodes.length, "node")}
      isOld={isOld}
      hasBody={false}
      controls={<CopyTable label="nodes" table={() => toPlain(nodes)} />}
    >
      <DataTable
        label="Nodes"
        columns={columns}
        {...sorted}
        keyOf={({ name }) => name}
        toPlain={toPlain}
        empty="No node."
        isOld={isOld}
      />
    </Panel>
  );
}

const STAGE_CELLS: Cells<PipelineStage> = {
  number: { width: 60, grow: 0 },
  ranks: { grow: 2, cell: ({ ranks }) => <span title={ranks}>{harmless(ranks, 60)}</span> },
};

/** How long each stage stands idle, and whether data waits for it or it for data. */
export function Stages({ answer, isOld }: Shown) {
  const { pipeline, pipeline_columns: heads } = answer;
  const columns = declaredColumns(heads, pipeline, STAGE_CELLS);
  const toPlain = declaredToPlain<PipelineStage>(heads);
  const sorted = useSorted(pipeline, columns, null);
  if (answer.pipeline.length === 0) {
    return null;
  }
  return (
    <Panel
      title="Stages of the pipeline"
      hint={plural(answer.pipeline.length, "stage")}
      isOld={isOld}
      hasBody={false}
      controls={<CopyTable label="stages" table={() => toPlain(pipeline)} />}
    >
      <DataTable
        label="Stages of the pipeline"
        columns={columns}
        {...sorted}
        keyOf={({ ranks }) => ranks}
        toPlain={toPlain}
        empty="No stage."
        isOld={isOld}
      />
    </Panel>
  );
}

/** How the ranks are drawn. */
function rankCells({ ranks }: Distributed): Cells<DistributedRank> {
  const longest = Math.max(0, ...ranks.map(({ problem }) => textWidth(problem, PROBLEM_FONT)));
  return {
    worker: { width: 90, grow: 2, cell: ({ worker }) => <EndName name={worker} /> },
    rank: { width: 64, grow: 0, cell: ({ rank }) => known(rank, String) },
    node: {
      grow: 1,
      cell: ({ node }) =>
        node === "" ? (
          <span className="dim" title="The recording names no host, nor does the worker's name.">
            {DASH}
          </span>
        ) : (
          <EndName name={node} />
        ),
    },
    // Whole, while there is room for it.
    problem: {
      width: Math.min(MOST_PROBLEM, Math.ceil(longest) + 2),
      isMain: true,
      cell: ({ problem }) => (
        <span className="warn-text" title={problem}>
          {problem}
        </span>
      ),
    },
    device: {
      width: 90,
      grow: 2,
      cell: ({ device, device_index, capability }) => (
        <span title={capability === "" ? "" : `compute capability ${capability}`}>
          {device === "" ? none : harmless(device)}
          {device_index === "" ? null : <span className="dim"> {device_index}</span>}
        </span>
      ),
    },
    memory_bytes: { width: 70 },
    busy_ratio: { cell: (one) => known(one.busy_ratio, (ratio) => share(ratio, 0)) },
    inherited_ns: {
      cell: ({ inherited_ns, inherited_from }) => {
        const from = inherited_from === null ? undefined : ranks[inherited_from];
        return (
          <span title={from === undefined ? "" : `most of it from ${rankName(from)}`}>
            {known(inherited_ns, time)}
          </span>
        );
      },
    },
  };
}

/** Node → process → device, and what each rank did with its step. */
export function Ranks({ answer, isOld }: Shown) {
  const address = useAddress();
  const values = useValues();
  const heads = answer.ranks_columns;
  const all = declaredColumns(heads, answer.ranks, rankCells(answer));
  const hidden = hiddenIn(values["distributed.hide"], hiddenByDefault(heads));
  const columns = all.filter(({ key }) => !hidden.has(key));
  const toPlain = declaredToPlain<DistributedRank>(heads);
  const find = values["distributed.find"] ?? "";
  const meant = useMemo(
    () => (find === "" ? answer.ranks : answer.ranks.filter((one) => isMeant(one, find))),
    [answer.ranks, find],
  );
  const sorted = useSorted(meant, columns, null);
  const workers = plural(answer.ranks.length, "worker");
  return (
    <Panel
      title="Devices and ranks"
      hint={
        find === "" ? workers : `${count(meant.length)} of ${workers} for “${harmless(find, 40)}”`
      }
      isOld={isOld}
      hasBody={false}
      className="ranks-panel"
      controls={
        <>
          <ColumnsMenu
            columns={all}
            hidden={hidden}
            onChange={(next) => address.replace({ "distributed.hide": next })}
          />
          <CopyTable label="ranks" table={() => toPlain(answer.ranks)} />
        </>
      }
    >
      <FewRows rows={sorted.rows} most={MOST_RANKS}>
        {(rows) => (
          <DataTable
            label="Devices and ranks"
            columns={columns}
            {...sorted}
            rows={rows}
            keyOf={({ worker }) => worker}
            toPlain={toPlain}
            empty={find === "" ? "No rank." : "No such rank or node."}
            isOld={isOld}
          />
        )}
      </FewRows>
    </Panel>
  );
}
