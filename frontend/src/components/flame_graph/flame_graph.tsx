/** The flame graph: a click chooses, a double click or Enter zooms, Escape leads out again. */

import {
  type KeyboardEvent,
  type MouseEvent,
  type ReactNode,
  useId,
  useMemo,
  useRef,
  useState,
} from "react";
import { isReport } from "../../api/stored";
import type { Flame, FlameNode } from "../../api/types.gen";
import { documentTokens, kindWord } from "../../base/style/kind_hues";
import { adoptStyles } from "../../base/style/styles";
import { plainTable } from "../../base/text/delimited";
import { count, fixed, plural, share, time } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { type Cell, cell } from "../../state/cell";
import { useThemeName } from "../../state/host/environment";
import { LiveCanvas } from "../charts/live_canvas";
import { CopyTable } from "../controls/copy_table";
import flameCss from "./flame_graph.css?inline";
import {
  boxAt,
  FLAME_ROW,
  type FlameBox,
  type FlameTree,
  flameTree,
  pathTo,
  treeOrder,
  viewOfBox,
  walkedBox,
} from "./layout";
import { type FlameTint, flameColors, kindNumber, paintFlame } from "./paint";

/** A value of the graph in words, of one of so many steps. */
export const flameValue =
  (unit: string, steps = 1) =>
  (value: number) =>
    unit === "ns" ? time(value / steps) : steps === 1 ? count(value) : fixed(value / steps, 1);

export interface FlameGraphProps {
  /** At first every box is shown: what begins a chain matters as much as its end. */
  readonly isWhole?: boolean;
  readonly flame: Flame;
  /** What one of `count` is. */
  readonly counted: "call" | "slice";
  /** Of so many steps are the values; they are written as those of one. */
  readonly steps?: number;
  /** `node` of the box that is zoomed to; null = none, all is seen. */
  readonly focus: number | null;
  readonly onFocus: (node: number | null) => void;
  readonly onChoose?: (node: FlameNode | null) => void;
  /** Whether a search finds a name, whose boxes stay bright; null = nothing is searched. */
  readonly isHit: ((name: string) => boolean) | null;
  /** What stands before the path of the focus. */
  readonly tools?: ReactNode;
  /** Colours boxes by something else than their kind. */
  readonly tint?: FlameTint;
}

export type { FlameTint } from "./paint";

interface Choice {
  readonly flame: Flame;
  readonly index: number;
}

/** Where a box of an earlier answer is now; −1 = nowhere. */
function indexNow(flame: Flame, choice: Choice | null): number {
  if (choice === null || choice.flame === flame) {
    return choice?.index ?? -1;
  }
  const before = choice.flame.nodes[choice.index];
  return flame.nodes.findIndex(
    ({ node, name }) => node >= 0 && node === before?.node && name === before.name,
  );
}

function foundBoxes(tree: FlameTree, isHit: FlameGraphProps["isHit"]): ReadonlySet<number> | null {
  if (isHit === null) {
    return null;
  }
  const found = tree.boxes.flatMap((box) =>
    box !== undefined && [...box.above, box.node].some(({ name }) => isHit(name))
      ? [box.index]
      : [],
  );
  return new Set(found);
}

/** What a box says of itself, on hover and to a screen reader. */
function spokenBox(
  { node, above }: FlameBox,
  flame: Flame,
  focus: FlameNode | undefined,
  counted: string,
  words: (value: number) => string,
): string {
  const inside = above.length === 0 ? "" : `${plural(above.length, "call")} around it, `;
  const ofFocus =
    focus === undefined
      ? ""
      : ` (${share(node.value / Math.max(1, focus.value))} of ${harmless(focus.name, 40)})`;
  const part = `${share(node.value / Math.max(1, flame.total))}${ofFocus}`;
  const calls = plural(node.count, counted);
  if (node.node < 0) {
    const boxes = plural(node.boxes, "box", "boxes");
    return `${node.name} · ${boxes} too small to see, with all inside them · ${words(node.value)}, ${part} · ${calls}`;
  }
  return `${harmless(node.name, 200)} · ${inside}${words(node.value)}, ${part} · self ${words(
    node.self_value,
  )} · ${calls}${node.note === "" ? "" : ` · ${harmless(node.note, 400)}`}`;
}

/** The boxes as a table; its last three columns sum to the whole. */
export const flamePlain = (unit: string, counted: string) =>
  plainTable<FlameBox>([
    "depth",
    ["name", ({ node }) => node.name],
    ["kind", ({ node }) => (node.node < 0 ? "" : kindWord(kindNumber(node.kind)))],
    [`value_${unit}`, ({ node }) => node.value],
    [`self_${unit}`, ({ node }) => node.self_value],
    [`${counted}s`, ({ node }) => node.count],
    ["boxes", ({ node }) => node.boxes],
  ]);

/** All boxes as a table, every call by itself. */
export const flameTable = (flame: Flame, counted: string) =>
  flamePlain(flame.unit, counted)(treeOrder(flameTree(flame)));

/** The whole tree as text for other programs; `metric` names the file. */
export const FoldedStacks = ({ href, metric }: { href: string; metric: string }) =>
  isReport ? null : (
    <a
      className="btn small quiet"
      href={href}
      download={`${metric}.stacks`}
      title="One line per path: FlameGraph and speedscope read it"
    >
      Folded stacks
    </a>
  );

export function FlameGraph(props: FlameGraphProps) {
  const { flame, counted, focus, onFocus, onChoose, isHit, tools, tint } = props;
  adoptStyles(flameCss);
  const theme = useThemeName();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme changes the tokens
  const colors = useMemo(() => flameColors(documentTokens), [theme]);
  const scroll = useRef<HTMLDivElement>(null);
  const [scrolled] = useState<Cell<number>>(() => cell(0));
  const [isFolded, setFolded] = useState(props.isWhole !== true);
  const [hovered, setHovered] = useState<Choice | null>(null);
  const [choice, setChoice] = useState<Choice | null>(null);
  const id = useId();

  const tree = useMemo(() => flameTree(flame, isFolded), [flame, isFolded]);
  const found = useMemo(() => foundBoxes(tree, isHit), [tree, isHit]);
  const zoomed = useMemo(
    () => (focus === null ? -1 : flame.nodes.findIndex(({ node }) => node === focus)),
    [flame, focus],
  );
  const view = viewOfBox(tree.boxes[zoomed]);
  const chosen = tree.boxes[indexNow(flame, choice)]?.index ?? -1;
  const hover = hovered?.flame === flame ? (tree.boxes[hovered.index]?.index ?? -1) : -1;
  const { steps = 1 } = props;
  const words = flameValue(flame.unit, steps);

  const choose = (index: number) => {
    setChoice(index < 0 ? null : { flame, index });
    onChoose?.(flame.nodes[index] ?? null);
  };
  const zoom = (index: number) => {
    const node = flame.nodes[index]?.node ?? -1;
    // What stands for several is no box to go into.
    if (node >= 0 && node !== focus) {
      onFocus(node);
    }
  };
  const at = (event: MouseEvent): FlameBox | null => {
    const area = scroll.current;
    if (area === null) {
      return null;
    }
    const { left, top } = area.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top + area.scrollTop];
    return boxAt(tree, view, area.clientWidth, x, y);
  };
  const reveal = (index: number) => {
    const area = scroll.current;
    const y = (tree.boxes[index]?.depth ?? 0) * FLAME_ROW;
    if (area === null) {
      return;
    }
    const { scrollTop, clientHeight } = area;
    if (y < scrollTop || y > scrollTop + clientHeight - FLAME_ROW) {
      area.scrollTop = y - clientHeight / 2;
    }
  };
  /** Out of the focus, else out of the choice; whether there was something to leave. */
  const leave = (): boolean => {
    if (focus !== null) {
      onFocus(null);
    } else if (chosen >= 0) {
      choose(-1);
    } else {
      return false;
    }
    return true;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey) {
      return;
    }
    const to = walkedBox(tree, chosen, event.key, view);
    if (to !== null) {
      choose(to);
      reveal(to);
    } else if (event.key === "Enter" && chosen >= 0) {
      zoom(chosen);
    } else if (event.key === "Escape" ? !leave() : !event.key.startsWith("Arrow")) {
      // "/" is the page's: it leads to the search whose hits stay bright here.
      return;
    }
    event.preventDefault();
  };
  const told = tree.boxes[hover] ?? tree.boxes[chosen];
  const path = pathTo(tree, zoomed);
  const sentence = (
    <p className="hint clip flame-words" id={id} aria-live="polite">
      {told === undefined
        ? `${words(flame.total)} ${steps === 1 ? "in all" : "per step"} · click chooses, double click or Enter zooms, arrows walk`
        : spokenBox(told, flame, flame.nodes[zoomed], counted, words)}
    </p>
  );
  // Tools of the view take the line that the sentence else stands in.
  const isOneLine = tools === undefined;
  return (
    <div className="fill">
      <div className="tool-row">
        {tools}
        <nav
          className={isOneLine ? "crumbs flame-path clip" : "crumbs flame-path grow clip"}
          aria-label="Box in focus"
        >
          {focus === null ? null : (
            <button type="button" className="link" onClick={() => onFocus(null)}>
              Show all
            </button>
          )}
          {path.slice(-4).map((box) => (
            <button key={box.index} type="button" className="link" onClick={() => zoom(box.index)}>
              › {harmless(box.node.name, 40)}
            </button>
          ))}
        </nav>
        {isOneLine ? sentence : null}
        {flame.merged > 0 ? (
          <span className="hint nowrap">
            {plural(flame.merged, "box", "boxes")} too small to see
          </span>
        ) : null}
        <button
          type="button"
          className="btn quiet small"
          aria-pressed={isFolded}
          title="Calls that do nothing but call the next one share a box with it"
          onClick={() => setFolded(!isFolded)}
        >
          Fold chains
        </button>
        <CopyTable label="the boxes" table={() => flameTable(flame, counted)} />
      </div>
      {isOneLine ? null : sentence}
      <div
        ref={scroll}
        className="flame-scroll"
        style={{ height: tree.rows.length * FLAME_ROW }}
        role="application"
        aria-label={`Flame graph, ${plural(flame.nodes.length, "call")}. Arrows walk, Enter zooms, Escape shows all, slash searches.`}
        aria-describedby={id}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it takes keys
        tabIndex={0}
        onScroll={(event) => scrolled.set(event.currentTarget.scrollTop)}
        onKeyDown={onKeyDown}
        onPointerMove={(event) => {
          const box = at(event);
          setHovered(box === null ? null : { flame, index: box.index });
        }}
        onPointerLeave={() => setHovered(null)}
        onClick={(event) => choose(at(event)?.index ?? -1)}
        onDoubleClick={(event) => zoom(at(event)?.index ?? -1)}
      >
        <div className="flame-sheet">
          <LiveCanvas
            aria-hidden="true"
            cells={[scrolled]}
            paint={(context, width, height) =>
              paintFlame(context, width, height, {
                tree,
                view,
                colors,
                scrollY: scrolled.get(),
                hovered: hover,
                chosen,
                found,
                valueText: words,
                tint,
              })
            }
          />
        </div>
        <div style={{ height: tree.rows.length * FLAME_ROW }} />
      </div>
    </div>
  );
}
