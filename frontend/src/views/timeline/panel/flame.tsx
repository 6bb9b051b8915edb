import {
  type KeyboardEvent,
  type MouseEvent,
  type PointerEvent,
  useMemo,
  useRef,
  useState,
} from "react";
import { toProblem } from "../../../api/problem";
import type { FlameAnswer } from "../../../api/types.gen";
import { count, plural, share, time } from "../../../base/text/format";
import { harmless } from "../../../base/text/shown_name";
import { CopyTable } from "../../../components/controls/copy_table";
import { Segmented } from "../../../components/controls/segmented";
import { matches } from "../../../components/overlays/option_list";
import { ProblemNote } from "../../../components/states/problem_note";
import { CodeName } from "../../../components/text/code_name";
import { type Cell, cell } from "../../../state/cell";
import { usePart } from "../../../state/parts";
import { useLasting } from "../../../state/timing";
import { LiveCanvas } from "../live_canvas";
import { CANVAS_FONT } from "../ruler/time_ruler";
import type { Link } from "../state/address";
import { useTimelineContext } from "../state/context";
import { type Scope, scopeQuery } from "../state/range";
import { KindSwatch, kindWord } from "../tracks/kinds";
import {
  boxAt,
  FLAME_ROW,
  type FlameBox,
  type FlameTree,
  flameTree,
  paintFlame,
  pathTo,
  viewOfBox,
  walkedBox,
} from "./flame_model";
import { type Column, GridTable, type Sorting } from "./grid_table";

/** The flame graph on a canvas: hovered, pressed, and walked by arrows. */

export const flameValue = (unit: string) => (value: number) =>
  unit === "ns" ? time(value) : count(value);

/** Boxes whose name the search finds; null without a search. */
function foundBoxes({ boxes }: FlameTree, { find, match }: Link): ReadonlySet<number> | null {
  if (find === "") {
    return null;
  }
  const isHit = matcher(find, match);
  return new Set(
    boxes.flatMap((box) =>
      box !== undefined && [...box.above, box.node].some(({ text }) => isHit(text))
        ? [box.index]
        : [],
    ),
  );
}

function matcher(find: string, match: Link["match"]): (text: string) => boolean {
  if (match === "exact") {
    return (text) => text === find;
  }
  // The server's regular expressions are not the browser's: by its words is near enough here.
  return (text) =>
    matches(text, match === "regex" ? find.replaceAll(/[^\w:. ]+/g, " ").trim() : find);
}

function spokenBox(
  { node, above }: FlameBox,
  total: number,
  words: (value: number) => string,
): string {
  const inside = above.length === 0 ? "" : `${plural(above.length, "call")} around it, `;
  const part = share(node.value / Math.max(1, total));
  return `${harmless(node.text, 200)}, ${inside}${words(node.value)}, ${part}, self ${words(node.self_value)}, ${plural(node.slices, "slice")}`;
}

interface GraphProps {
  readonly answer: FlameAnswer;
  readonly tree: FlameTree;
  readonly focus: number;
  readonly onFocus: (box: number) => void;
}

export function FlameGraph({ answer, tree, focus, onFocus }: GraphProps) {
  const { palette, link, actions } = useTimelineContext();
  const scroll = useRef<HTMLDivElement>(null);
  const [scrolled] = useState<Cell<number>>(() => cell(0));
  const [active, setActive] = useState(-1);
  const found = useMemo(() => foundBoxes(tree, link), [tree, link]);
  const view = viewOfBox(tree.boxes[focus]);
  const words = flameValue(answer.unit);

  const at = (event: PointerEvent | MouseEvent): FlameBox | null => {
    const area = scroll.current;
    if (area === null) {
      return null;
    }
    const { left, top } = area.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top + area.scrollTop];
    return boxAt(tree, view, area.clientWidth, x, y);
  };
  const reveal = (box: number) => {
    const area = scroll.current;
    const y = (tree.boxes[box]?.depth ?? 0) * FLAME_ROW;
    if (area === null) {
      return;
    }
    const { scrollTop, clientHeight } = area;
    if (y < scrollTop || y > scrollTop + clientHeight - FLAME_ROW) {
      area.scrollTop = y - clientHeight / 2;
    }
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const to = walkedBox(tree, active, event.key);
    if (to !== null) {
      setActive(to);
      reveal(to);
    } else if (event.key === "Enter" && active >= 0) {
      onFocus(active === focus ? -1 : active);
    } else if (event.key === "Escape" && focus >= 0) {
      onFocus(-1);
    } else if (!event.key.startsWith("Arrow")) {
      return;
    }
    event.preventDefault();
  };
  const box = tree.boxes[active];
  const said = box === undefined ? "" : spokenBox(box, tree.total, words);
  return (
    <>
      <div
        ref={scroll}
        className="tl-flame"
        role="application"
        aria-label={`Flame graph, ${plural(answer.nodes.length, "call")}. Arrows walk, Enter shows one alone, Escape all.`}
        aria-describedby="tl-flame-said"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it takes keys
        tabIndex={0}
        onScroll={(event) => scrolled.set(event.currentTarget.scrollTop)}
        onKeyDown={onKeyDown}
        onPointerMove={(event) => setActive(at(event)?.index ?? -1)}
        onPointerLeave={() => setActive(-1)}
        onClick={(event) => {
          const hit = at(event);
          onFocus(hit === null || hit.index === focus ? -1 : hit.index);
        }}
        onDoubleClick={(event) => {
          const hit = at(event);
          if (hit !== null) {
            actions.find(hit.node.text, "exact");
          }
        }}
      >
        <div className="tl-flame-sheet">
          <LiveCanvas
            aria-hidden="true"
            cells={[scrolled]}
            paint={(context, width, height) =>
              paintFlame(context, width, height, {
                tree,
                view,
                palette,
                font: CANVAS_FONT,
                scrollY: scrolled.get(),
                active,
                found,
                valueText: words,
              })
            }
          />
        </div>
        <div style={{ height: Math.max(0, tree.rows.length * FLAME_ROW) }} />
      </div>
      <p id="tl-flame-said" className="tl-foot hint clip" aria-live="polite">
        {said === "" ? `${words(answer.total)} in all · press a box to see it alone` : said}
      </p>
    </>
  );
}

/** The flame graph of the area, with a table of the same boxes beside it. */

type Metric = "total" | "count";

const COLUMNS_VALUES: Readonly<Record<string, (box: FlameBox) => number>> = {
  value: ({ node }) => node.value,
  self: ({ node }) => node.self_value,
  slices: ({ node }) => node.slices,
};

function BoxTable({ answer, tree }: { answer: FlameAnswer; tree: FlameTree }) {
  const { palette, actions } = useTimelineContext();
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
  const { link } = useTimelineContext();
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
