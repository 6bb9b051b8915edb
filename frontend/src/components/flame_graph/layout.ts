/** Where the boxes of a flame graph are: root on top, the heaviest at the left. Pure. */
import type { Flame, FlameNode } from "../../api/types.gen";

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
  /** By index of their node; calls that share a box have the same one. */
  readonly boxes: readonly (FlameBox | undefined)[];
  /** By depth, from left to right. */
  readonly rows: readonly (readonly FlameBox[])[];
  /** Children by parent, heaviest first or in the order of the answer; −1 = the roots. */
  readonly children: ReadonlyMap<number, readonly number[]>;
  readonly total: number;
}

/** Who is whose child. A parent that does not come before its child is none: nothing loops. */
function childrenOf({ nodes, in_order }: Flame): Map<number, number[]> {
  const children = new Map<number, number[]>();
  nodes.forEach((node, index) => {
    const parent = node.parent < index ? node.parent : -1;
    children.set(parent, children.get(parent) ?? []);
    children.get(parent)?.push(index);
  });
  const isRest = (index: number) => Number((nodes[index]?.node ?? -1) < 0);
  for (const list of children.values()) {
    // What stands for several comes last, however much it is.
    list.sort(
      (a, b) =>
        isRest(a) - isRest(b) ||
        (in_order ? a - b : (nodes[b]?.value ?? 0) - (nodes[a]?.value ?? 0)),
    );
  }
  return children;
}

/** So much of a call must be its only child's for the two to share a row. */
const SAME = 0.995;

/**
 * The last of a chain of calls that hold nothing but the next one; itself where it holds more, or
 * where chains are not folded.
 */
function endOfChain(
  nodes: readonly FlameNode[],
  children: ReadonlyMap<number, readonly number[]>,
  from: number,
  isFolded: boolean,
): { readonly end: number; readonly above: readonly number[] } {
  const above: number[] = [];
  let end = from;
  for (;;) {
    const [only, ...others] = children.get(end) ?? [];
    const node = nodes[end];
    const child = only === undefined ? undefined : nodes[only];
    if (
      only === undefined ||
      !isFolded ||
      others.length > 0 ||
      node === undefined ||
      child === undefined ||
      child.value < node.value * SAME
    ) {
      return { end, above };
    }
    above.push(end);
    end = only;
  }
}

/** `isFolded`: chains of calls with one child each share a row, as deep stacks begin with. */
export function flameTree(flame: Flame, isFolded = false): FlameTree {
  const { nodes, total } = flame;
  const children = childrenOf(flame);
  const boxes: FlameBox[] = [];
  const rows: FlameBox[][] = [];
  const scale = Math.max(total, Number.MIN_VALUE);
  // Not recursive: a stack may be a thousand deep.
  const waiting = [{ parent: -1, depth: 0, x: 0 }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    let { x } = next;
    const { depth } = next;
    for (const first of children.get(next.parent) ?? []) {
      const chain = endOfChain(nodes, children, first, isFolded);
      const [node, width] = [nodes[chain.end], nodes[first]?.value ?? 0];
      if (node !== undefined) {
        const index = chain.end;
        const above = chain.above.flatMap((at) => nodes[at] ?? []);
        const box = { node, above, index, depth, x0: x / scale, x1: (x + width) / scale };
        for (const at of [...chain.above, index]) {
          boxes[at] = box;
        }
        rows[depth] ??= [];
        rows[depth]?.push(box);
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

/** Whether some of a box is seen. */
const isInView = ({ x0, x1 }: FlameBox, view: FlameView) => x1 > view.x0 && x0 < view.x1;

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

/** The box that a key leads to from another: around it, inside it, beside it. It is in view. */
export function walkedBox(
  tree: FlameTree,
  at: number,
  key: string,
  view: FlameView = WHOLE,
): number | null {
  const box = tree.boxes[at];
  if (!key.startsWith("Arrow")) {
    return null;
  }
  if (box === undefined) {
    return tree.rows[view.depth]?.find((one) => isInView(one, view))?.index ?? null;
  }
  const [before, behind] = neighbours(tree, box);
  const found: Readonly<Record<string, FlameBox | undefined>> = {
    ArrowUp: across(tree, box, box.depth - 1),
    ArrowDown: across(tree, box, box.depth + 1),
    ArrowLeft: before,
    ArrowRight: behind,
  };
  const to = found[key];
  return to !== undefined && isInView(to, view) ? to.index : null;
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

/** All boxes, parents before their children, the heaviest first. */
export function treeOrder({ boxes, children }: FlameTree): FlameBox[] {
  const order: FlameBox[] = [];
  const waiting = [...(children.get(-1) ?? [])].reverse();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const box = boxes[next];
    if (box?.index === next) {
      order.push(box);
    }
    waiting.push(...[...(children.get(next) ?? [])].reverse());
  }
  return order;
}

/** Indexes of a node and of all below it, parents first. */
export function subtree(nodes: readonly FlameNode[], root: number): readonly number[] {
  const inside = new Set([root]);
  nodes.forEach(({ parent }, index) => {
    if (parent < index && inside.has(parent)) {
      inside.add(index);
    }
  });
  return [...inside];
}
