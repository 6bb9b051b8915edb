import { useMemo, useState } from "react";
import { partUrl } from "../../../api/routes";
import type { Flame, FlameNode } from "../../../api/types.gen";
import { toggled } from "../../../base/sets";
import { count, plural } from "../../../base/text/format";
import { CopyTable } from "../../../components/controls/copy_table";
import { Segmented } from "../../../components/controls/segmented";
import { useSorted } from "../../../components/data_table/rows";
import { type Column, DataTable, numberColumn } from "../../../components/data_table/table";
import {
  FlameGraph,
  FoldedStacks,
  flamePlain,
  flameTable,
  flameValue,
} from "../../../components/flame_graph/flame_graph";
import { type FlameBox, flameTree, treeOrder } from "../../../components/flame_graph/layout";
import { kindNumber } from "../../../components/flame_graph/paint";
import { matches } from "../../../components/overlays/option_list";
import { ProblemNote } from "../../../components/states/problem_note";
import { usePart } from "../../../state/parts";
import { useLasting } from "../../../state/timing";
import type { Link } from "../state/address";
import { useTimelineContext } from "../state/context";
import { type Scope, scopeQuery } from "../state/range";
import { KindName } from "../tracks/kinds";

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

function columnsOf(unit: string): readonly Column<FlameBox>[] {
  const words = flameValue(unit);
  return [
    {
      key: "tree",
      head: "Call",
      help: "A call, and inside it the calls that it made; equal ones are one row.",
      width: 200,
      grow: 5,
      sort: true,
      cell: ({ node }) => <KindName kind={kindNumber(node.kind)} name={node.name} />,
    },
    numberColumn("value", unit === "ns" ? "Total" : "Count", ({ node }) => words(node.value), {
      sort: ({ node }) => node.value,
      help: "With the calls inside it.",
      width: 96,
    }),
    numberColumn("self", "Self", ({ node }) => words(node.self_value), {
      sort: ({ node }) => node.self_value,
      help: "Without the calls inside it.",
      width: 96,
    }),
    numberColumn("slices", "Slices", ({ node }) => count(node.count), {
      sort: ({ node }) => node.count,
      help: "Number of slices in the area.",
      width: 88,
    }),
  ];
}

/** What a flame graph shows as a tree of rows. */
interface BoxTree {
  readonly boxes: readonly FlameBox[];
  readonly isParent: (box: FlameBox) => boolean;
}

function boxTree(answer: Flame): BoxTree {
  const tree = flameTree(answer);
  return { boxes: treeOrder(tree), isParent: ({ index }) => tree.children.has(index) };
}

/** The rows of a tree that lie in none that is closed. */
export function openRows(
  boxes: readonly FlameBox[],
  closed: ReadonlySet<number>,
): readonly FlameBox[] {
  let inside = Number.POSITIVE_INFINITY;
  return boxes.filter(({ index, depth }) => {
    if (depth > inside) {
      return false;
    }
    inside = closed.has(index) ? depth : Number.POSITIVE_INFINITY;
    return true;
  });
}

function BoxTable({ answer }: { answer: Flame }) {
  const { actions } = useTimelineContext();
  const { boxes, isParent } = useMemo(() => boxTree(answer), [answer]);
  const [closed, setClosed] = useState<ReadonlySet<number>>(new Set());
  const columns = useMemo(() => columnsOf(answer.unit), [answer.unit]);
  const { rows, sorting, onSort } = useSorted(boxes, columns, null);
  const tree = {
    expanded: (box: FlameBox) => (isParent(box) ? !closed.has(box.index) : undefined),
    onExpand: ({ index }: FlameBox) => setClosed(toggled(closed, index, !closed.has(index))),
    levelOf: ({ depth }: FlameBox) => depth,
  };
  return (
    <DataTable
      label="Boxes of the flame graph"
      columns={columns}
      rows={sorting === null ? openRows(boxes, closed) : rows}
      sorting={sorting}
      onSort={(next) => onSort(next.key === "tree" ? null : next)}
      {...(sorting === null ? tree : {})}
      keyOf={(box) => box.index}
      onChoose={({ node }) => actions.find(node.name, "exact")}
      toPlain={flamePlain(answer.unit, "slice")}
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
  /** Where the folded stacks are. */
  readonly folded: string;
}

function AreaTools({ metric, onMetric, isTable, onTable, chosen, folded }: AreaToolsProps) {
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
      <FoldedStacks href={folded} metric={metric} />
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
  const { key, digest } = scope.source;
  const isSlow = useLasting(isLoading);
  const { find, match } = link;
  const isHit = useMemo(() => (find === "" ? null : matcher(find, match)), [find, match]);
  if (problem !== null) {
    return <ProblemNote problem={problem} again={again} />;
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
      folded={query === null ? "" : partUrl("timeline/folded", key, digest, query)}
    />
  );
  return (
    <div className={isOld && isSlow ? "fill stale" : "fill"}>
      {isTable ? (
        <>
          <div className="tool-row">
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
