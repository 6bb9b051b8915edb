/** The flame graph of an area: boxes from a call tree, root on top, the heaviest at the left. */
import type { FlameAnswer, FlameNode } from "../../../api/types.gen";
import type { TimelinePalette } from "../../../timeline/contract";
import { hashText, labelForms } from "../../../timeline/names/display";

export const FLAME_ROW = 18;

/** One node, placed: `x0`, `x1` as shares of the width when nothing is in focus. */
export interface FlameBox {
  readonly node: FlameNode;
  /** Calls folded into it, outermost first: each had nothing but the next one inside. */
  readonly above: readonly FlameNode[];
  readonly index: number;
  readonly depth: number;
  readonly x0: number;
  readonly x1: number;
}

export interface FlameTree {
  /** By index of their node; folded ones are not there. */
  readonly boxes: readonly (FlameBox | undefined)[];
  /** By depth, from left to right. */
  readonly rows: readonly (readonly FlameBox[])[];
  /** Children by parent, heaviest first; −1 = the roots. */
  readonly children: ReadonlyMap<number, readonly number[]>;
  readonly total: number;
}

/** Who is whose child. A parent that does not come before its child is none: nothing loops. */
function childrenOf(nodes: readonly FlameNode[]): Map<number, number[]> {
  const children = new Map<number, number[]>();
  nodes.forEach((node, index) => {
    const parent = node.parent < index ? node.parent : -1;
    children.set(parent, [...(children.get(parent) ?? []), index]);
  });
  for (const list of children.values()) {
    list.sort((a, b) => (nodes[b]?.value ?? 0) - (nodes[a]?.value ?? 0));
  }
  return children;
}

/** So much of a call must be its only child's for the two to share a row. */
const SAME = 0.995;

/** The last of a chain of calls that hold nothing but the next one; itself where it holds more. */
function endOfChain(
  nodes: readonly FlameNode[],
  children: ReadonlyMap<number, readonly number[]>,
  from: number,
): { readonly end: number; readonly above: readonly FlameNode[] } {
  const above: FlameNode[] = [];
  let end = from;
  for (;;) {
    const [only, ...others] = children.get(end) ?? [];
    const node = nodes[end];
    const child = only === undefined ? undefined : nodes[only];
    if (
      only === undefined ||
      others.length > 0 ||
      node === undefined ||
      child === undefined ||
      child.value < node.value * SAME
    ) {
      return { end, above };
    }
    above.push(node);
    end = only;
  }
}

/** `isFolded`: chains of calls with one child each share a row, as deep stacks begin with. */
export function flameTree({ nodes, total }: FlameAnswer, isFolded = false): FlameTree {
  const children = childrenOf(nodes);
  const boxes: FlameBox[] = [];
  const rows: FlameBox[][] = [];
  const scale = Math.max(total, Number.MIN_VALUE);
  // Not recursive: a stack may be a thousand deep.
  const waiting = [{ parent: -1, depth: 0, x: 0 }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    let { x } = next;
    const { depth } = next;
    for (const first of children.get(next.parent) ?? []) {
      const chain = isFolded ? endOfChain(nodes, children, first) : { end: first, above: [] };
      const [node, width] = [nodes[chain.end], nodes[first]?.value ?? 0];
      if (node !== undefined) {
        const index = chain.end;
        const { above } = chain;
        const box = { node, above, index, depth, x0: x / scale, x1: (x + width) / scale };
        boxes[index] = box;
        rows[depth] = [...(rows[depth] ?? []), box];
        waiting.push({ parent: index, depth: depth + 1, x });
        x += width;
      }
    }
  }
  for (const row of rows) {
    row.sort((a, b) => a.x0 - b.x0);
  }
  return { boxes, rows, children, total };
}

/** The part of the width that is shown: all of it, or that of a box in focus. */
export interface FlameView {
  readonly x0: number;
  readonly x1: number;
  readonly depth: number;
}

export const WHOLE: FlameView = { x0: 0, x1: 1, depth: 0 };

export const viewOfBox = (box: FlameBox | undefined): FlameView =>
  box === undefined || box.x1 <= box.x0 ? WHOLE : { x0: box.x0, x1: box.x1, depth: box.depth };

const toPx = (x: number, { x0, x1 }: FlameView, width: number) => ((x - x0) / (x1 - x0)) * width;

/** Left and right edge of a box on the screen, clipped; null when it is outside. */
export function edges(
  box: FlameBox,
  view: FlameView,
  width: number,
): readonly [number, number] | null {
  const left = toPx(box.x0, view, width);
  const right = toPx(box.x1, view, width);
  return right <= 0.01 || left >= width - 0.01 ? null : [Math.max(0, left), Math.min(width, right)];
}

/** The box at a place, of the rows as they are scrolled. */
export function boxAt(
  tree: FlameTree,
  view: FlameView,
  width: number,
  x: number,
  y: number,
): FlameBox | null {
  const row = tree.rows[Math.floor(y / FLAME_ROW)] ?? [];
  const at = view.x0 + (x / Math.max(1, width)) * (view.x1 - view.x0);
  let low = 0;
  let high = row.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((row[middle]?.x1 ?? 0) <= at) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const box = row[low];
  return box !== undefined && box.x0 <= at && at < box.x1 ? box : null;
}

export interface FlamePicture {
  readonly tree: FlameTree;
  readonly view: FlameView;
  readonly palette: TimelinePalette;
  readonly font: string;
  readonly scrollY: number;
  readonly active: number;
  /** Boxes that a search found; null = none is searched. */
  readonly found: ReadonlySet<number> | null;
  readonly valueText: (value: number) => string;
}

const LABEL_PX = 24;
const LEAST_PX = 0.6;

export function paintFlame(
  context: CanvasRenderingContext2D,
  width: number,
  height: number,
  picture: FlamePicture,
): void {
  const { tree, scrollY } = picture;
  context.font = picture.font;
  context.textBaseline = "middle";
  const first = Math.max(0, Math.floor(scrollY / FLAME_ROW));
  const last = Math.min(tree.rows.length, Math.ceil((scrollY + height) / FLAME_ROW) + 1);
  for (let depth = first; depth < last; depth += 1) {
    // What is too thin to see leaves one thin mark for all of its kind.
    let painted = -1;
    for (const box of tree.rows[depth] ?? []) {
      const place = edges(box, picture.view, width);
      if (place !== null && place[1] > painted + LEAST_PX) {
        painted = place[1];
        paintBox(context, box, place, depth * FLAME_ROW - scrollY, picture);
      }
    }
  }
}

function paintBox(
  context: CanvasRenderingContext2D,
  { node, above, index, depth }: FlameBox,
  [left, right]: readonly [number, number],
  y: number,
  { palette, active, found, view, valueText }: FlamePicture,
): void {
  const { fills, inks } = palette.kinds[node.kind] ?? { fills: [], inks: [] };
  const pick = fills.length > 0 ? hashText(node.text) % fills.length : 0;
  const isDim = (found !== null && !found.has(index)) || depth < view.depth;
  const width = Math.max(1, right - left - (right - left > 3 ? 1 : 0));
  context.globalAlpha = isDim ? 0.35 : 1;
  context.fillStyle = fills[pick] ?? palette.hatch;
  context.fillRect(left, y, width, FLAME_ROW - 1);
  context.globalAlpha = 1;
  if (index === active) {
    context.strokeStyle = palette.ink;
    context.lineWidth = 2;
    context.strokeRect(left + 1, y + 1, Math.max(1, width - 2), FLAME_ROW - 3);
  }
  if (width > LABEL_PX) {
    context.fillStyle = isDim ? palette.ink : (inks[pick] ?? palette.ink);
    paintLabel(context, labelsOf(above, node), valueText(node.value), left + 4, width - 8, y);
  }
}

/** What a box may say, the longest first. */
function labelsOf(above: readonly FlameNode[], node: FlameNode): readonly string[] {
  const own = labelForms(node.text.slice(0, 300));
  if (above.length === 0) {
    return own;
  }
  const short = (text: string) => labelForms(text.slice(0, 300))[0];
  const chain = [...above.map(({ text }) => short(text)), own[0]];
  const ends = `${chain[0]} › … › ${own[0]}`;
  return [chain.join(" › "), ends, ...own];
}

function paintLabel(
  context: CanvasRenderingContext2D,
  forms: readonly string[],
  value: string,
  x: number,
  room: number,
  top: number,
): void {
  const y = top + FLAME_ROW / 2;
  const fits = (text: string) => context.measureText(text).width <= room;
  const named = forms.find((form) => fits(`${form}  ${value}`));
  if (named !== undefined) {
    context.fillText(named, x, y);
    context.globalAlpha = 0.75;
    context.fillText(value, x + context.measureText(`${named}  `).width, y);
    context.globalAlpha = 1;
    return;
  }
  let text = forms.find(fits) ?? forms.at(-1) ?? "";
  while (text.length > 1 && !fits(`${text}…`)) {
    text = text.slice(0, -1);
  }
  const isWhole = forms.includes(text);
  if (isWhole || text.length > 1) {
    context.fillText(isWhole ? text : `${text}…`, x, y);
  }
}

/** Where a box stands among those of its row. */
function neighbours(tree: FlameTree, box: FlameBox): readonly (FlameBox | undefined)[] {
  const row = tree.rows[box.depth] ?? [];
  const at = row.indexOf(box);
  return [row[at - 1], row[at + 1]];
}

/** The box beneath the heaviest, or above: those that stand within its edges, or around them. */
function across(tree: FlameTree, box: FlameBox, depth: number): FlameBox | undefined {
  const row = tree.rows[depth] ?? [];
  const middle = (box.x0 + box.x1) / 2;
  const isAbove = depth < box.depth;
  return row.find((other) =>
    isAbove
      ? other.x0 <= middle && middle < other.x1
      : other.x0 >= box.x0 - 1e-12 && other.x0 < box.x1,
  );
}

/** The box that a key leads to from another: around it, inside it, beside it. */
export function walkedBox(tree: FlameTree, at: number, key: string): number | null {
  const box = tree.boxes[at];
  if (box === undefined) {
    return tree.rows[0]?.[0]?.index ?? null;
  }
  const [before, behind] = neighbours(tree, box);
  const found: Readonly<Record<string, FlameBox | undefined>> = {
    ArrowUp: across(tree, box, box.depth - 1),
    ArrowDown: across(tree, box, box.depth + 1),
    ArrowLeft: before,
    ArrowRight: behind,
  };
  return found[key]?.index ?? null;
}

/** Boxes from the root to one of them. */
export function pathTo(tree: FlameTree, at: number): readonly FlameBox[] {
  const path: FlameBox[] = [];
  let box = tree.boxes[at];
  while (box !== undefined) {
    path.unshift(box);
    box = across(tree, box, box.depth - 1);
  }
  return path;
}
