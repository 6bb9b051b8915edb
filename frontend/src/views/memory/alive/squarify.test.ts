import { describe, expect, it } from "vitest";
import type { AliveNode } from "../../../api/types.gen";
import { boxWords } from "./panel";
import { aliveBoxes, lineage, squarified } from "./squarify";

const node = (change: Partial<AliveNode>): AliveNode => ({
  parent: -1,
  kind: "size",
  name: "",
  category: "activation",
  bytes: 1,
  count: 1,
  each_bytes: null,
  line: "",
  block: null,
  slice: null,
  confidence: "high",
  why: "",
  ...change,
});

/** Activations 300 = layer1 200 (mm 150, add 50) + layer2 100; parameters 100. */
const NODES: readonly AliveNode[] = [
  node({ kind: "category", bytes: 300 }),
  node({ parent: 0, kind: "module", name: "nn.Module: layer1", bytes: 200 }),
  node({ parent: 1, kind: "op", name: "aten::mm", bytes: 150 }),
  node({ parent: 2, bytes: 150, count: 3, each_bytes: 50, line: "forward (net.py:7…)" }),
  node({ parent: 1, kind: "op", name: "aten::add", bytes: 50 }),
  node({ parent: 4, bytes: 50, each_bytes: 50 }),
  node({ parent: 0, kind: "module", name: "layer2", bytes: 100 }),
  node({ parent: 6, kind: "op", name: "", bytes: 100 }),
  node({ parent: 7, bytes: 100, each_bytes: 100 }),
  node({ kind: "category", category: "parameter", bytes: 100 }),
  node({ parent: 9, kind: "rest", category: "parameter", bytes: 100, count: 0 }),
];
const LABELS = { activation: "Activations", parameter: "Parameters" };

const random = (seed: number) => () => {
  seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
  return seed / 2 ** 31;
};

describe("squarified", () => {
  it("gives areas as the values are, inside the box, one beside the other", () => {
    for (let seed = 1; seed < 40; seed += 1) {
      const next = random(seed);
      const values = Array.from(
        { length: 1 + Math.floor(next() * 30) },
        () => 1 + next() ** 4 * 1e9,
      );
      values.sort((a, b) => b - a);
      const whole = { x: 5, y: 7, width: 40 + next() * 800, height: 40 + next() * 400 };
      const boxes = squarified(values, whole);
      const total = values.reduce((sum, value) => sum + value, 0);
      const scale = (whole.width * whole.height) / total;
      for (const [at, box] of boxes.entries()) {
        expect(box.width * box.height).toBeCloseTo((values[at] ?? 0) * scale, 3);
        expect(box.x).toBeGreaterThanOrEqual(whole.x - 1e-6);
        expect(box.y).toBeGreaterThanOrEqual(whole.y - 1e-6);
        expect(box.x + box.width).toBeLessThanOrEqual(whole.x + whole.width + 1e-6);
        expect(box.y + box.height).toBeLessThanOrEqual(whole.y + whole.height + 1e-6);
      }
    }
  });

  it("is made of squares where it can be", () => {
    const boxes = squarified([1, 1, 1, 1], { x: 0, y: 0, width: 100, height: 100 });
    expect(boxes.map(({ width, height }) => [width, height])).toEqual(Array(4).fill([50, 50]));
  });

  it("bears nothing, and no room", () => {
    expect(squarified([], { x: 0, y: 0, width: 9, height: 9 })).toEqual([]);
    expect(squarified([0, 0], { x: 0, y: 0, width: 9, height: 9 })).toHaveLength(2);
    expect(squarified([3, 1], { x: 0, y: 0, width: 0, height: 330 })).toHaveLength(2);
  });
});

describe("the boxes of what is alive", () => {
  it("go down to the sizes, and sum to the total", () => {
    const { boxes, unseen } = aliveBoxes(NODES, 800, 300);
    expect(boxes.map(({ node: at }) => at).sort((a, b) => a - b)).toEqual([3, 5, 8, 10]);
    const area = boxes.reduce((sum, { width, height }) => sum + width * height, 0);
    expect(area).toBeCloseTo(800 * 300, 3);
    expect(unseen).toBe(0);
  });

  it("stay together where there is no room, and say what is not drawn", () => {
    const { boxes, unseen } = aliveBoxes(NODES, 60, 40);
    expect(boxes.map(({ node: at }) => at)).toContain(0);
    const drawn = boxes.reduce((sum, { node: at }) => sum + (NODES[at]?.bytes ?? 0), 0);
    expect(drawn + unseen).toBe(400);
  });

  it("have words as many as there is room for", () => {
    const { boxes } = aliveBoxes(NODES, 800, 300);
    const words = boxes.map((box) =>
      boxWords(NODES, box, LABELS).map((line) => line.replaceAll("\u00a0", " ")),
    );
    expect(words[0]).toEqual([
      "Activations · layer1",
      "150 B · 3 × 50 B",
      "aten::mm",
      "forward (net.py:7…)",
    ]);
    expect(words.at(-1)).toEqual(["Parameters · smaller ones", "100 B"]);
    const low = { node: 3, place: 0, x: 0, y: 0, width: 200, height: 24 };
    expect(boxWords(NODES, low, LABELS)).toEqual(["Activations · layer1"]);
    expect(boxWords(NODES, { ...low, width: 20 }, LABELS)).toEqual([]);
    expect(boxWords(NODES, { ...low, width: 70 }, LABELS)[0]).toMatch(/^\d.*B$/);
  });

  it("know what they lie in", () => {
    expect(lineage(NODES, 3).map(({ kind }) => kind)).toEqual(["category", "module", "op", "size"]);
    expect(lineage(NODES, -1)).toEqual([]);
  });
});
