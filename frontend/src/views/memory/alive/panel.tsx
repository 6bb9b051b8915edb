/** What a total consists of: a box for each category, module, op and size, as large as its bytes. */
import { type KeyboardEvent, type ReactNode, useMemo, useState } from "react";
import type { AliveNode, AliveTree, Memory } from "../../../api/types.gen";
import { useWidth } from "../../../base/measure";
import { documentTokens } from "../../../base/style/kind_hues";
import { plainTable } from "../../../base/text/delimited";
import { bytes, count, plural, share, time } from "../../../base/text/format";
import { harmless } from "../../../base/text/shown_name";
import { walked } from "../../../base/walk";
import { CopyTable } from "../../../components/controls/copy_table";
import { Segmented } from "../../../components/controls/segmented";
import { ViewLink } from "../../../components/controls/view_link";
import { Answered } from "../../../components/states/answered";
import { Panel } from "../../../components/states/panel";
import { CodeName } from "../../../components/text/code_name";
import { Prose } from "../../../components/text/prose";
import { useThemeName } from "../../../state/host/environment";
import { useAsked, usePart } from "../../../state/parts";
import { scopeOf, type useChoice } from "../choice";
import { boxPaint } from "../colors";
import { stepAt } from "../curve/frame";
import { frameWords, Line, moduleName } from "../line";
import { type AliveBox, aliveBoxes, lineage } from "./squarify";

const HEIGHT = 330;
const LINE_PX = 14;
const PADDING_PX = 8;
/** A box narrower than this has no room for words, but for its size; and narrower yet for nothing. */
const LEAST_WORDS = 76;
const LEAST_FIGURE = 66;

/** What a node is called where its parents are known. */
export function nodeName(node: AliveNode, labels: Readonly<Record<string, string>>): string {
  switch (node.kind) {
    case "category":
      return labels[node.category] ?? node.category;
    case "module":
      return node.name === "" ? "no module" : moduleName(node.name);
    case "op":
      return node.name === "" ? "outside of ops" : frameWords(node.name, true);
    case "size":
      return node.each_bytes === null ? "" : `${count(node.count)} × ${bytes(node.each_bytes)}`;
    default:
      return "smaller ones";
  }
}

/** The lines of words in a box, as many as it has room for: what it is, how much, in which sizes, where. */
export function boxWords(
  nodes: readonly AliveNode[],
  box: AliveBox,
  labels: Readonly<Record<string, string>>,
): readonly string[] {
  const room = Math.floor((box.height - PADDING_PX) / LINE_PX);
  const path = lineage(nodes, box.node);
  const node = path.at(-1);
  if (node === undefined || box.width < LEAST_FIGURE || room < 1) {
    return [];
  }
  if (box.width < LEAST_WORDS) {
    return [bytes(node.bytes)];
  }
  const named = path.filter(
    ({ kind, name }) => (kind === "module" || kind === "op") && name !== "",
  );
  const where = named.map((one) => nodeName(one, labels));
  const head = where[0] ?? (node.kind === "rest" ? "smaller ones" : "");
  const label = labels[node.category] ?? node.category;
  const first = box.place === 0 || head === "" ? [label, head].filter(Boolean).join(" · ") : head;
  const sizes = node.kind === "size" && node.count > 1 ? ` · ${nodeName(node, labels)}` : "";
  // In a memory snapshot the line stands in place of an op.
  const line = named.some(({ name }) => name === node.line) ? "" : frameWords(node.line, false);
  return [first, bytes(node.bytes) + sizes, ...where.slice(1), line]
    .filter((text) => text !== "")
    .slice(0, room);
}

/** A box in a sentence. */
const spoken = (path: readonly AliveNode[], labels: Readonly<Record<string, string>>) =>
  `${path.map((node) => harmless(nodeName(node, labels), 120)).join(" › ")}: ${bytes(path.at(-1)?.bytes ?? 0)}`;

const toPlain = (tree: AliveTree, labels: Readonly<Record<string, string>>) => {
  const isParent = new Set(tree.nodes.map(({ parent }) => parent));
  const leaves = tree.nodes.flatMap((_, at) => (isParent.has(at) ? [] : [lineage(tree.nodes, at)]));
  const named = (kind: AliveNode["kind"]) => (path: readonly AliveNode[]) =>
    path.find((node) => node.kind === kind)?.name ?? "";
  return plainTable<readonly AliveNode[]>([
    ["category", (path) => labels[path[0]?.category ?? ""] ?? ""],
    ["module", named("module")],
    ["op", named("op")],
    ["bytes", (path) => path.at(-1)?.bytes ?? 0],
    ["blocks", (path) => path.at(-1)?.count ?? 0],
    ["each_bytes", (path) => path.at(-1)?.each_bytes ?? null],
    ["line", (path) => path.at(-1)?.line ?? ""],
    ["confidence", (path) => path.at(-1)?.confidence ?? ""],
  ])(leaves);
};

interface TreemapProps {
  readonly tree: AliveTree;
  readonly labels: Readonly<Record<string, string>>;
  readonly chosen: number;
  readonly onChoose: (node: number) => void;
}

function Treemap({ tree, labels, chosen, onChoose }: TreemapProps) {
  const [place, width] = useWidth<HTMLDivElement>();
  const theme = useThemeName();
  const { boxes, unseen } = useMemo(() => aliveBoxes(tree.nodes, width, HEIGHT), [tree, width]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme changes the tokens
  const paints = useMemo(
    () => new Map(tree.nodes.map(({ category }) => [category, boxPaint(category, documentTokens)])),
    [tree, theme],
  );
  const active = Math.max(
    0,
    boxes.findIndex(({ node }) => node === chosen),
  );
  const onKeyDown = (event: KeyboardEvent) => {
    const keys = event.key === "ArrowUp" || event.key === "ArrowDown";
    const to = walked(
      event.key,
      active,
      boxes.length,
      keys ? ["ArrowUp", "ArrowDown"] : ["ArrowLeft", "ArrowRight"],
    );
    const box = boxes[to ?? -1];
    if (to !== null && box !== undefined) {
      event.preventDefault();
      onChoose(box.node);
      place.current?.querySelectorAll("button")[to]?.focus();
    }
  };
  return (
    <>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset has a frame and a legend of its own */}
      <div
        ref={place}
        className="treemap"
        style={{ height: HEIGHT }}
        role="group"
        aria-label={`What ${bytes(tree.bytes)} consist of, the largest first. Arrows walk.`}
        onKeyDown={onKeyDown}
      >
        {boxes.map((box, at) => {
          const node = tree.nodes[box.node];
          if (node === undefined) {
            return null;
          }
          const paint = paints.get(node.category);
          const shade = box.place % (paint?.fills.length ?? 1);
          const words = boxWords(tree.nodes, box, labels);
          const text = spoken(lineage(tree.nodes, box.node), labels);
          return (
            <button
              key={box.node}
              type="button"
              className={words.length === 0 ? "treemap-box bare" : "treemap-box"}
              title={text}
              // Where there are words in it, not a size alone, they are its name.
              aria-label={words.length < 2 ? text : undefined}
              aria-pressed={box.node === chosen}
              tabIndex={at === active ? 0 : -1}
              style={{
                left: box.x,
                top: box.y,
                width: Math.max(1, box.width - 1.5),
                height: Math.max(1, box.height - 1.5),
                background: paint?.fills[shade],
                color: paint?.inks[shade],
              }}
              onClick={() => onChoose(box.node === chosen ? -1 : box.node)}
            >
              {words.map((line, row) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: the lines of a box have no other name
                <span key={row} className="clip">
                  {harmless(line, 120)}
                </span>
              ))}
            </button>
          );
        })}
      </div>
      {unseen > 0 ? <p className="hint">{bytes(unseen)} in boxes too small to see</p> : null}
    </>
  );
}

interface ChosenProps {
  readonly tree: AliveTree;
  readonly labels: Readonly<Record<string, string>>;
  readonly chosen: number;
  readonly onEvents: (node: AliveNode, path: readonly AliveNode[]) => void;
}

/** The box that was pressed: where it lies, why it is there, and the doors to its events. */
function Chosen({ tree, labels, chosen, onEvents }: ChosenProps) {
  const path = lineage(tree.nodes, chosen);
  const node = path.at(-1);
  if (node === undefined) {
    return (
      <div className="row mem-chosen">
        <span className="hint grow">
          Press a box to see where it comes from, and why it is in its category.
        </span>
        <CopyTable label="what is alive" table={() => toPlain(tree, labels)} />
      </div>
    );
  }
  return (
    <div className="mem-chosen" role="status">
      <p className="clip">
        {path.map((one, place) => (
          <span key={`${one.kind} ${one.name}`}>
            {place === 0 ? null : " › "}
            {one.kind === "op" && one.name !== "" ? (
              <CodeName name={one.name} />
            ) : (
              harmless(nodeName(one, labels), 80)
            )}
          </span>
        ))}
      </p>
      <p>
        <b>{bytes(node.bytes)}</b>
        {", "}
        {share(tree.bytes === 0 ? 0 : node.bytes / tree.bytes)}
        {node.count > 0 ? ` · ${plural(node.count, "block")}` : ""}
        {node.line === "" ? null : (
          <>
            {" · "}
            <Line text={node.line} />
          </>
        )}
      </p>
      <p className="ink2">
        <Prose text={node.why} /> Confidence: {node.confidence}.
      </p>
      <p className="row wrap">
        {node.slice === null ? null : (
          <ViewLink stem="timeline" params={{ select: String(node.slice) }}>
            The op in the trace
          </ViewLink>
        )}
        {node.count > 0 ? (
          <button type="button" className="link" onClick={() => onEvents(node, path)}>
            Its blocks in the table
          </button>
        ) : null}
      </p>
    </div>
  );
}

interface AlivePanelProps {
  readonly answer: Memory;
  readonly isOld: boolean;
  readonly choice: ReturnType<typeof useChoice>;
  readonly noBlocks: string;
}

export function AlivePanel({ answer, isOld, choice, noBlocks }: AlivePanelProps) {
  const { aliveAt, instant } = choice;
  const state = usePart(
    "memory/alive",
    useAsked(),
    noBlocks === "" ? { ...scopeOf(answer, choice.range), at: aliveAt, at_ns: instant } : null,
    true,
  );
  const [picked, setPicked] = useState<{ readonly tree: AliveTree; readonly node: number } | null>(
    null,
  );
  const tree = state.data;
  const chosen = picked !== null && picked.tree === tree ? picked.node : -1;
  const noSecond = answer.second === null ? "The curve of this step has one peak only." : "";
  const notYet = aliveAt === "time" ? "" : "Click into the curve to choose an instant.";
  return (
    <Panel
      title={aliveAt === "time" ? "Alive at the cursor" : "Alive at the peak"}
      className="mem-alive"
      hint={tree === undefined ? undefined : <When tree={tree} answer={answer} />}
      isOld={isOld || state.isOld}
      controls={
        noBlocks === "" ? (
          <Segmented
            label="At which instant"
            options={[
              ["peak", "Peak"],
              ["second", "Second peak", noSecond],
              ["time", "At cursor", notYet],
            ]}
            value={aliveAt}
            onChange={(at) => choice.setAlive(at)}
          />
        ) : undefined
      }
    >
      {noBlocks === "" ? (
        <Answered state={state}>
          {(data) => (
            <Content
              tree={data}
              labels={answer.categories}
              chosen={chosen}
              onChoose={(node) => setPicked({ tree: data, node })}
              onEvents={choice.showBlocks}
            />
          )}
        </Answered>
      ) : (
        <p className="ink2">
          Not available. <Prose text={noBlocks} />
        </p>
      )}
    </Panel>
  );
}

function When({ tree, answer }: { tree: AliveTree; answer: Memory }): ReactNode {
  if (tree.ts === null) {
    return null;
  }
  const step = stepAt(answer.steps, tree.ts);
  return `${time(tree.ts)}${step === null ? "" : ` in step ${step.number}`} · ${bytes(tree.bytes)}`;
}

function Content(props: TreemapProps & ChosenProps) {
  const { tree, labels, chosen, onChoose, onEvents } = props;
  if (tree.missing !== "" || tree.nodes.length === 0) {
    return (
      <p className="ink2">
        <Prose text={tree.missing === "" ? "Nothing was allocated then." : tree.missing} />
      </p>
    );
  }
  return (
    <>
      <Treemap tree={tree} labels={labels} chosen={chosen} onChoose={onChoose} />
      <Chosen tree={tree} labels={labels} chosen={chosen} onEvents={onEvents} />
    </>
  );
}
