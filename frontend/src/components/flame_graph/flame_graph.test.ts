import { expect, test } from "vitest";
import { boxAt, neighbour, placeBoxes } from "./flame_graph";

// main 10 ── a 6 ── c 4
//         └─ b 3
const BOXES = [
  { parent: -1, value: 10 },
  { parent: 0, value: 6 },
  { parent: 0, value: 3 },
  { parent: 1, value: 4 },
];

test("boxes lie below their parents, from the left on", () => {
  const placed = placeBoxes(BOXES, 10);
  expect(placed.map(({ depth, x, width }) => [depth, x, width])).toEqual([
    [0, 0, 1],
    [1, 0, 0.6],
    [1, 0.6, 0.3],
    [2, 0, 0.4],
  ]);
});

test("a box is found where it lies", () => {
  const placed = placeBoxes(BOXES, 10);
  expect(boxAt(placed, 0.65, 1)?.index).toBe(2);
  expect(boxAt(placed, 0.95, 1)).toBeNull();
  expect(boxAt(placed, 0.1, 7)).toBeNull();
});

test("keys walk the tree", () => {
  const placed = placeBoxes(BOXES, 10);
  expect(neighbour(placed, BOXES, 0, "down")).toBe(1);
  expect(neighbour(placed, BOXES, 1, "right")).toBe(2);
  expect(neighbour(placed, BOXES, 2, "right")).toBe(2);
  expect(neighbour(placed, BOXES, 3, "up")).toBe(1);
  expect(neighbour(placed, BOXES, 0, "up")).toBe(0);
});
