import { describe, expect, it } from "vitest";
import type { Flame, FlameNode } from "../../api/types.gen";
import { boxAt, FLAME_ROW, flameTree, pathTo, viewOfBox, WHOLE, walkedBox } from "./layout";

const node = (parent: number, name: string, value: number): FlameNode => ({
  node: name === "…" ? -1 : 0,
  parent,
  name,
  kind: "op",
  value,
  self_value: value,
  count: 1,
  boxes: 1,
  short: "",
  note: "",
});

/**
 *  0 main ────────────────────────── 100
 *  2 forward ──────── 60 │ 1 load 30
 *  3 conv 50
 */
const ANSWER: Flame = {
  unit: "ns",
  total: 100,
  nodes: [node(-1, "main", 100), node(0, "load", 30), node(0, "forward", 60), node(2, "conv", 50)],
  merged: 0,
  missing: "",
  left_out: [],
  in_order: false,
};
const tree = flameTree(ANSWER);
const names = (indexes: readonly number[]) => indexes.map((i) => ANSWER.nodes[i]?.name);

describe("boxes", () => {
  it("have their children beneath them, the heaviest at the left", () => {
    expect(tree.rows.map((row) => names(row.map((box) => box.index)))).toEqual([
      ["main"],
      ["forward", "load"],
      ["conv"],
    ]);
    expect(tree.boxes[1]).toMatchObject({ x0: 0.6, x1: 0.9, depth: 1 });
  });

  it("never reach beyond their parent", () => {
    for (const box of tree.boxes.filter((one) => one !== undefined)) {
      const parent = tree.boxes[box.node.parent];
      expect(box.x0).toBeGreaterThanOrEqual(parent?.x0 ?? 0);
      expect(box.x1).toBeLessThanOrEqual((parent?.x1 ?? 1) + 1e-12);
    }
  });

  it("are found at their place, and nothing where nothing is", () => {
    const at = (x: number, row: number, view = WHOLE) =>
      boxAt(tree, view, 1000, x, row * FLAME_ROW + 5)?.node.name;
    expect(at(10, 0)).toBe("main");
    expect(at(700, 1)).toBe("load");
    expect(at(950, 1)).toBeUndefined();
    expect(at(10, 9)).toBeUndefined();
    expect(at(999, 1, viewOfBox(tree.boxes[1]))).toBe("load");
  });

  it("stand in no loop, whatever the answer says", () => {
    const loop = flameTree({
      ...ANSWER,
      nodes: [node(1, "a", 5), node(0, "b", 5), node(2, "c", 5)],
    });
    expect(loop.boxes.map((box) => box?.depth)).toEqual([0, 1, 0]);
  });

  it("may be deeper than a call stack", () => {
    const nodes = Array.from({ length: 20_000 }, (_, i) => node(i - 1, "f", 1));
    expect(flameTree({ ...ANSWER, nodes }).rows).toHaveLength(20_000);
  });
});

describe("folded", () => {
  const nodes = [
    node(-1, "a", 100),
    node(0, "b", 100),
    node(1, "c", 99.9),
    node(2, "d", 60),
    node(2, "e", 30),
  ];
  const folded = flameTree({ ...ANSWER, nodes }, true);

  it("calls with nothing but the next one inside share a row", () => {
    expect(folded.rows.map((row) => row.map((box) => box.node.name))).toEqual([["c"], ["d", "e"]]);
    expect(folded.rows[0]?.[0]?.above.map(({ name }) => name)).toEqual(["a", "b"]);
    expect(folded.rows[0]?.[0]).toMatchObject({ x0: 0, x1: 1 });
  });

  it("are walked as they stand", () => {
    expect(walkedBox(folded, -1, "ArrowDown")).toBe(2);
    expect(walkedBox(folded, 2, "ArrowDown")).toBe(3);
    expect(walkedBox(folded, 4, "ArrowUp")).toBe(2);
  });

  it("keep a call apart that does something itself", () => {
    const own = [node(-1, "a", 100), node(0, "b", 90)];
    expect(flameTree({ ...ANSWER, nodes: own }, true).rows).toHaveLength(2);
  });
});

it("is walked by arrows", () => {
  expect(walkedBox(tree, -1, "ArrowDown")).toBe(0);
  expect(walkedBox(tree, 0, "ArrowDown")).toBe(2);
  expect(walkedBox(tree, 2, "ArrowRight")).toBe(1);
  expect(walkedBox(tree, 1, "ArrowLeft")).toBe(2);
  expect(walkedBox(tree, 1, "ArrowUp")).toBe(0);
  expect(walkedBox(tree, 0, "ArrowUp")).toBeNull();
  expect(pathTo(tree, 3).map((box) => box.node.name)).toEqual(["main", "forward", "conv"]);
});
