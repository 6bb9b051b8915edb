/**
 * The boxes of a treemap: each as large as its share, as square as can be (Bruls, Huizing and van Wijk,
 * "Squarified treemaps", 2000), and divided again while there is room.
 */
import type { AliveNode } from "../../../api/types.gen";
import { sum } from "../../../base/text/rounding";

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** How far the least square of some areas in a row along `side` is from a square; 1 = it is one. */
function worst(areas: readonly number[], side: number): number {
  const depth = sum(areas) / side;
  return areas.reduce((most, area) => {
    const length = area / depth;
    return Math.max(most, length / depth, depth / length);
  }, 1);
}

/** How many of some areas, from the first on, stand in one row along `side`. */
function rowLength(areas: readonly number[], side: number): number {
  let length = 1;
  while (
    length < areas.length &&
    worst(areas.slice(0, length + 1), side) <= worst(areas.slice(0, length), side)
  ) {
    length += 1;
  }
  return length;
}

/** Areas side by side along the shorter side of a box, and what they leave of it. */
function laidOut(row: readonly number[], { x, y, width, height }: Box): readonly [Box[], Box] {
  const isTall = width >= height;
  const side = isTall ? height : width;
  const depth = side > 0 ? sum(row) / side : 0;
  let along = 0;
  const boxes = row.map((area) => {
    const length = depth > 0 ? area / depth : 0;
    const before = along;
    along += length;
    return isTall
      ? { x, y: y + before, width: depth, height: length }
      : { x: x + before, y, width: length, height: depth };
  });
  const rest = isTall
    ? { x: x + depth, y, width: width - depth, height }
    : { x, y: y + depth, width, height: height - depth };
  return [boxes, rest];
}

/** Boxes for values, the largest first, that fill a box. Their areas are as the values are. */
export function squarified(values: readonly number[], box: Box): readonly Box[] {
  const total = sum(values);
  const scale = total > 0 ? (box.width * box.height) / total : 0;
  let areas = values.map((value) => value * scale);
  let free = box;
  const found: Box[] = [];
  while (areas.length > 0) {
    const length = rowLength(areas, Math.min(free.width, free.height));
    const [boxes, rest] = laidOut(areas.slice(0, length), free);
    found.push(...boxes);
    areas = areas.slice(length);
    free = rest;
  }
  return found;
}

export interface AliveBox extends Box {
  /** Index of its node. */
  readonly node: number;
  /** Its place among the boxes of its category. */
  readonly place: number;
}

/** Less room than this is not divided any further. */
const LEAST_WIDTH = 52;
const LEAST_HEIGHT = 32;
/** What is smaller cannot be seen. */
const LEAST_SIDE = 1.5;

/** Indexes of the nodes inside each, the largest first; −1 has the outermost. */
function insideOf(nodes: readonly AliveNode[]): ReadonlyMap<number, readonly number[]> {
  const inside = new Map<number, number[]>();
  const order = [...nodes.keys()].sort((a, b) => (nodes[b]?.bytes ?? 0) - (nodes[a]?.bytes ?? 0));
  for (const at of order) {
    const { parent, bytes } = nodes[at] ?? { parent: -1, bytes: 0 };
    if (bytes > 0) {
      const mine = inside.get(parent) ?? [];
      mine.push(at);
      inside.set(parent, mine);
    }
  }
  return inside;
}

const hasRoom = ({ width, height }: Box) => width >= LEAST_WIDTH && height >= LEAST_HEIGHT;
const isSeen = ({ width, height }: Box) => width >= LEAST_SIDE && height >= LEAST_SIDE;

/** Boxes of a tree whose parents come before their children, down to where there is room. */
export function aliveBoxes(nodes: readonly AliveNode[], width: number, height: number) {
  const inside = insideOf(nodes);
  const boxes: AliveBox[] = [];
  const places = new Map<string, number>();
  let unseen = 0;
  const draw = (node: number, box: Box) => {
    const { category, bytes } = nodes[node] ?? { category: "unknown", bytes: 0 };
    const place = places.get(category) ?? 0;
    if (isSeen(box)) {
      places.set(category, place + 1);
      boxes.push({ ...box, node, place });
    } else {
      unseen += bytes;
    }
  };
  const divide = (children: readonly number[], whole: Box) => {
    const values = children.map((at) => nodes[at]?.bytes ?? 0);
    for (const [index, box] of squarified(values, whole).entries()) {
      const at = children[index] ?? -1;
      const below = inside.get(at) ?? [];
      if (below.length === 1 || (below.length > 0 && hasRoom(box))) {
        divide(below, box);
      } else {
        draw(at, box);
      }
    }
  };
  divide(inside.get(-1) ?? [], { x: 0, y: 0, width, height });
  return { boxes, unseen };
}

/** A node and what it lies in, outermost first. */
export function lineage(nodes: readonly AliveNode[], node: number): readonly AliveNode[] {
  const found: AliveNode[] = [];
  for (let at = node; at >= 0; ) {
    const one = nodes[at];
    if (one === undefined) {
      break;
    }
    found.unshift(one);
    at = one.parent;
  }
  return found;
}
