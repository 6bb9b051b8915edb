/** The flame graph of the area, with a table of the same boxes beside it. */
import { useMemo, useState } from "react";
import { toProblem } from "../../api/problem";
import type { FlameAnswer } from "../../api/types.gen";
import { count, plural } from "../../base/format";
import { harmless } from "../../base/shown_name";
import { CodeName } from "../../components/code_name";
import { CopyTable } from "../../components/copy_table";
import { ProblemNote } from "../../components/problem_note";
import { Segmented } from "../../components/segmented";
import { usePart } from "../../state/parts";
import { useLasting } from "../../state/timing";
import { type FlameBox, type FlameTree, flameTree, pathTo } from "./flame";
import { FlameGraph, flameValue } from "./flame_graph";
import { type Column, GridTable, type Sorting } from "./grid_table";
import { KindSwatch } from "./kind_swatch";
import { kindWord } from "./kinds";
import { type Scope, scopeQuery } from "./scope";
import { useStage } from "./stage_context";

type Metric = "total" | "count";

const COLUMNS_VALUES: Readonly<Record<string, (box: FlameBox) => number>> = {
  value: ({ node }) => node.value,
  self: ({ node }) => node.self_value,
  slices: ({ node }) => node.slices,
};

function BoxTable({ answer, tree }: { answer: FlameAnswer; tree: FlameTree }) {
  const { palette, actions } = useStage();
  const [sorting, setSorting] = useState<Sorting>({ column: "tree", isDown: false });
  const words = flameValue(answer.unit);
  const value = COLUMNS_VALUES[sorting.column];
  const order = treeOrder(tree);
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
          <KindSwatch fill={palette.kinds[node.kind]?.fills[0]} />
          <CodeName name={node.text} />
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
      cell: ({ node }) => count(node.slices),
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
      onOpen={({ node }) => actions.find(node.text, "exact")}
      empty="Nothing ran here."
    />
  );
}

/** Parents before their children, the heaviest first. */
function treeOrder({ boxes, children }: FlameTree): FlameBox[] {
  const order: FlameBox[] = [];
  const waiting = [...(children.get(-1) ?? [])].reverse();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const box = boxes[next];
    if (box !== undefined) {
      order.push(box);
    }
    waiting.push(...[...(children.get(next) ?? [])].reverse());
  }
  return order;
}

const toTable = (tree: FlameTree, unit: string) => ({
  header: ["depth", "name", "kind", `value_${unit}`, `self_${unit}`, "slices"],
  rows: treeOrder(tree).map(({ node, depth }) => [
    depth,
    node.text,
    kindWord(node.kind),
    node.value,
    node.self_value,
    node.slices,
  ]),
});

export function AreaFlame({ scope }: { scope: Scope }) {
  const { link } = useStage();
  const [metric, setMetric] = useState<Metric>("total");
  const [isTable, setTable] = useState(false);
  const [focus, setFocus] = useState(-1);
  const query = scope.isBare ? null : { ...scopeQuery(scope), metric, layout: link.layout };
  const { data, isLoading, isOld, problem, again } = usePart(
    "timeline/flame",
    scope.source,
    query,
    true,
  );
  const isSlow = useLasting(isLoading);
  // Every call in the table; in the graph chains of calls share a row.
  const tree = useMemo(() => (data === undefined ? null : flameTree(data)), [data]);
  const folded = useMemo(() => (data === undefined ? null : flameTree(data, true)), [data]);
  if (problem !== null) {
    return <ProblemNote problem={toProblem(problem)} again={again} />;
  }
  if (data === undefined || tree === null || folded === null) {
    return <p className="tl-none dim">{isSlow ? "Folding the stacks…" : ""}</p>;
  }
  const path = pathTo(folded, focus);
  return (
    <div className={isOld && isSlow ? "tl-fill stale" : "tl-fill"}>
      <div className="tl-tools">
        <Segmented
          label="Weight"
          value={metric}
          options={[
            ["total", "Time"],
            ["count", "Calls"],
          ]}
          onChange={(next) => {
            setMetric(next);
            setFocus(-1);
          }}
        />
        <nav className="tl-crumbs grow clip" aria-label="Box in focus">
          {path.length === 0 ? null : (
            <button type="button" className="link" onClick={() => setFocus(-1)}>
              all
            </button>
          )}
          {path.slice(-4).map((box) => (
            <button
              key={box.index}
              type="button"
              className="link"
              onClick={() => setFocus(box.index)}
            >
              › {harmless(box.node.text, 40)}
            </button>
          ))}
        </nav>
        {data.pruned > 0 ? (
          <span className="hint nowrap">
            {plural(data.pruned, "box", "boxes")} too small to see
          </span>
        ) : null}
        <CopyTable label="the boxes" table={() => toTable(tree, data.unit)} />
        <button
          type="button"
          className="btn quiet small"
          aria-pressed={isTable}
          onClick={() => setTable(!isTable)}
        >
          {isTable ? "Show as graph" : "Show as table"}
        </button>
      </div>
      {tree.rows.length === 0 ? (
        <p className="tl-none dim">Nothing ran here.</p>
      ) : isTable ? (
        <BoxTable answer={data} tree={tree} />
      ) : (
        <FlameGraph answer={data} tree={folded} focus={focus} onFocus={setFocus} />
      )}
    </div>
  );
}
