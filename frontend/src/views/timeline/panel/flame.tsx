import { useMemo, useState } from "react";
import { toProblem } from "../../../api/problem";
import type { Flame, FlameNode } from "../../../api/types.gen";
import { count, plural } from "../../../base/text/format";
import { CopyTable } from "../../../components/controls/copy_table";
import { Segmented } from "../../../components/controls/segmented";
import { FlameGraph, flameTable, flameValue } from "../../../components/flame_graph/flame_graph";
import { type FlameBox, flameTree, treeOrder } from "../../../components/flame_graph/layout";
import { kindNumber } from "../../../components/flame_graph/paint";
import { matches } from "../../../components/overlays/option_list";
import { ProblemNote } from "../../../components/states/problem_note";
import { CodeName } from "../../../components/text/code_name";
import { usePart } from "../../../state/parts";
import { useLasting } from "../../../state/timing";
import type { Link } from "../state/address";
import { useTimelineContext } from "../state/context";
import { type Scope, scopeQuery } from "../state/range";
import { KindSwatch } from "../tracks/kinds";
import { type Column, GridTable, type Sorting } from "./grid_table";

/** Whether the search of the Trace view finds a name. */
function matcher(find: string, match: Link["match"]): (text: string) => boolean {
  if (match === "exact") {
    return (text) => text === find;
  }
  // The server's regular expressions are not the browser's: by its words is near enough here.
  return (text) =>
    matches(text, match === "regex" ? find.replaceAll(/[^\w:. ]+/g, " ").trim() : find);
}

/** The flame graph of the area, with a table of the same boxes beside it. */

type Metric = "total" | "count";

const COLUMNS_VALUES: Readonly<Record<string, (box: FlameBox) => number>> = {
  value: ({ node }) => node.value,
  self: ({ node }) => node.self_value,
  slices: ({ node }) => node.count,
};

function BoxTable({ answer }: { answer: Flame }) {
  const { palette, actions } = useTimelineContext();
  const [sorting, setSorting] = useState<Sorting>({ column: "tree", isDown: false });
  const words = flameValue(answer.unit);
  const value = COLUMNS_VALUES[sorting.column];
  const order = useMemo(() => treeOrder(flameTree(answer)), [answer]).slice();
  if (value !== undefined) {
    order.sort((a, b) => (sorting.isDown ? value(b) - value(a) : value(a) - value(b)));
  }
  const columns: readonly Column<FlameBox>[] = [
    {
      key: "tree",
      header: "Call",
      width: "minmax(200px, 3fr)",
      isSorted: true,
      cell: ({ node, depth }) => (
        <span className="tl-named" style={{ paddingLeft: Math.min(depth, 40) * 10 }}>
          <KindSwatch fill={palette.kinds[kindNumber(node.kind)]?.fills[0]} />
          <CodeName name={node.name} />
        </span>
      ),
    },
    {
      key: "value",
      header: answer.unit === "ns" ? "Total" : "Count",
      width: "96px",
      isNumber: true,
      isSorted: true,
      cell: ({ node }) => words(node.value),
    },
    {
      key: "self",
      header: "Self",
      width: "96px",
      isNumber: true,
      isSorted: true,
      cell: ({ node }) => words(node.self_value),
    },
    {
      key: "slices",
      header: "Slices",
      width: "88px",
      isNumber: true,
      isSorted: true,
      cell: ({ node }) => count(node.count),
    },
  ];
  return (
    <GridTable
      label="Boxes of the flame graph"
      columns={columns}
      count={order.length}
      rowAt={(index) => order[index]}
      keyOf={(box) => box.index}
      sorting={sorting}
      onSort={setSorting}
      onOpen={({ node }) => actions.find(node.name, "exact")}
      empty="Nothing ran here."
    />
  );
}

interface AreaToolsProps {
  readonly metric: Metric;
  readonly onMetric: (metric: Metric) => void;
  readonly isTable: boolean;
  readonly onTable: (isTable: boolean) => void;
  readonly chosen: FlameNode | null;
}

function AreaTools({ metric, onMetric, isTable, onTable, chosen }: AreaToolsProps) {
  const { actions } = useTimelineContext();
  return (
    <>
      <Segmented
        label="Weight"
        value={metric}
        options={[
          ["total", "Time"],
          ["count", "Calls"],
        ]}
        onChange={onMetric}
      />
      <button
        type="button"
        className="btn quiet small"
        aria-pressed={isTable}
        onClick={() => onTable(!isTable)}
      >
        {isTable ? "Show as graph" : "Show as table"}
      </button>
      {chosen === null || chosen.node < 0 ? null : (
        <button
          type="button"
          className="btn quiet small"
          onClick={() => actions.find(chosen.name, "exact")}
        >
          Find on the timeline
        </button>
      )}
    </>
  );
}

interface Zoom {
  readonly flame: Flame;
  readonly node: number;
}

export function AreaFlame({ scope }: { scope: Scope }) {
  const { link } = useTimelineContext();
  const [metric, setMetric] = useState<Metric>("total");
  const [isTable, setTable] = useState(false);
  const [zoom, setZoom] = useState<Zoom | null>(null);
  const [chosen, setChosen] = useState<FlameNode | null>(null);
  const query = scope.isBare ? null : { ...scopeQuery(scope), metric, layout: link.layout };
  const { data, isLoading, isOld, problem, again } = usePart(
    "timeline/flame",
    scope.source,
    query,
    true,
  );
  const isSlow = useLasting(isLoading);
  const { find, match } = link;
  const isHit = useMemo(() => (find === "" ? null : matcher(find, match)), [find, match]);
  if (problem !== null) {
    return <ProblemNote problem={toProblem(problem)} again={again} />;
  }
  if (data === undefined) {
    return <p className="tl-none dim">{isSlow ? "Folding the stacks…" : ""}</p>;
  }
  if (data.nodes.length === 0) {
    return <p className="tl-none dim">Nothing ran here.</p>;
  }
  const tools = (
    <AreaTools
      metric={metric}
      onMetric={setMetric}
      isTable={isTable}
      onTable={setTable}
      chosen={isTable ? null : chosen}
    />
  );
  return (
    <div className={isOld && isSlow ? "tl-fill stale" : "tl-fill"}>
      {isTable ? (
        <>
          <div className="tl-tools">
            {tools}
            <span className="grow" />
            {data.merged > 0 ? (
              <span className="hint nowrap">
                {plural(data.merged, "box", "boxes")} too small to see
              </span>
            ) : null}
            <CopyTable label="the boxes" table={() => flameTable(data, "slice")} />
          </div>
          <BoxTable answer={data} />
        </>
      ) : (
        <FlameGraph
          flame={data}
          counted="slice"
          // A box of another answer is none of this one.
          focus={zoom?.flame === data ? zoom.node : null}
          onFocus={(node) => setZoom(node === null ? null : { flame: data, node })}
          onChoose={setChosen}
          isHit={isHit}
          tools={tools}
        />
      )}
    </div>
  );
}
