/** Where the boxes of a flame graph are: root on top, the width is the value. Pure. */

export interface FlameInput {
  readonly parent: number;
  readonly value: number;
}

/** One box in shares of the whole width. */
export interface Placed {
  /** Index in the input. */
  readonly index: number;
  readonly depth: number;
  readonly x: number;
  readonly width: number;
}

/**
 * Siblings stand in the order of the input, from the left edge of their parent on. Parents come
 * before their children.
 */
export function placeBoxes(boxes: readonly FlameInput[], total: number): readonly Placed[] {
  const used = new Float64Array(boxes.length);
  const placed: Placed[] = [];
  let right = 0;
  boxes.forEach(({ parent, value }, index) => {
    const above = placed[parent];
    const width = total > 0 ? value / total : 0;
    const x = above === undefined ? right : above.x + (used[parent] ?? 0);
    if (above === undefined) {
      right += width;
    } else {
      used[parent] = (used[parent] ?? 0) + width;
    }
    placed.push({ index, depth: above === undefined ? 0 : above.depth + 1, x, width });
  });
  return placed;
}

/** The box at a place, in shares of the width and in levels; null where there is none. */
export function boxAt(placed: readonly Placed[], x: number, depth: number): Placed | null {
  for (const box of placed) {
    if (box.depth === depth && x >= box.x && x < box.x + box.width) {
      return box;
    }
  }
  return null;
}

export type Move = "up" | "down" | "left" | "right";

/** The next box by keyboard: the parent, the first child, the neighbours of one level. */
export function neighbour(
  placed: readonly Placed[],
  boxes: readonly FlameInput[],
  at: number,
  move: Move,
): number {
  const here = placed[at];
  if (here === undefined) {
    return 0;
  }
  if (move === "up") {
    return Math.max(0, boxes[at]?.parent ?? 0);
  }
  if (move === "down") {
    const child = boxes.findIndex((box) => box.parent === at);
    return child < 0 ? at : child;
  }
  const level = placed.filter((box) => box.depth === here.depth).sort((a, b) => a.x - b.x);
  const next = level[level.indexOf(here) + (move === "left" ? -1 : 1)];
  return next?.index ?? at;
}
