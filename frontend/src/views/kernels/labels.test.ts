import { describe, expect, it } from "vitest";
import { type Box, type Dot, decadesOf, decadeTicks, labelBox, meet, placeLabels } from "./labels";

const AREA: Box = { left: 0, top: 0, right: 400, bottom: 200 };
const widthOf = (text: string) => text.length * 6;
const dot = (x: number, y: number, text = "kernel", radius = 5): Dot => ({ x, y, radius, text });

describe("labels of a scatter", () => {
  it("stand right of their dot, or where there is room", () => {
    expect(placeLabels([dot(50, 50)], AREA, [], widthOf)).toEqual(["right"]);
    expect(placeLabels([dot(390, 50)], AREA, [], widthOf)).toEqual(["left"]);
    const wall: Box = { left: 46, top: 40, right: 400, bottom: 60 };
    expect(placeLabels([dot(40, 50)], AREA, [wall], widthOf)).toEqual(["top"]);
  });

  it("are left out where nothing fits: the first dots choose first", () => {
    const crowd = Array.from({ length: 12 }, (_, place) => dot(200 + place, 100, "a long name"));
    const sides = placeLabels(crowd, AREA, [], widthOf);
    expect(sides[0]).not.toBeNull();
    expect(sides.filter((side) => side !== null).length).toBeLessThan(5);
  });

  it("never meet each other or the dots of others, and are never cut", () => {
    let seed = 7;
    const next = () => {
      seed = (seed * 16807) % 2147483647;
      return seed / 2147483647;
    };
    for (let round = 0; round < 200; round += 1) {
      const dots = Array.from({ length: 40 }, (_, place) =>
        dot(
          next() * 400,
          next() * 200,
          "n".repeat(1 + Math.floor(next() * 24)),
          3 + 60 / (place + 3),
        ),
      );
      const sides = placeLabels(dots, AREA, [], widthOf);
      const boxes = dots.flatMap((one, place) => {
        const side = sides[place] ?? null;
        return side === null ? [] : [labelBox(one, side, widthOf(one.text))];
      });
      for (const [place, box] of boxes.entries()) {
        expect(box.left >= 0 && box.right <= 400 && box.top >= 0 && box.bottom <= 200).toBe(true);
        expect(boxes.slice(place + 1).some((other) => meet(box, other))).toBe(false);
      }
    }
  });
});

describe("a logarithmic axis", () => {
  it("ends a little beyond what is drawn", () => {
    const [low, high] = decadesOf([0.3, 40]);
    expect(low).toBeLessThan(Math.log10(0.3));
    expect(high).toBeGreaterThan(Math.log10(40));
    expect(high - low).toBeLessThan(1.25 * (Math.log10(40) - Math.log10(0.3)));
  });

  it("has a length for one value, and for none", () => {
    const [low, high] = decadesOf([3]);
    expect(high - low).toBeGreaterThan(0.9);
    expect(decadesOf([])).toEqual([-1, 1]);
  });

  it("names 1, 2, 5 or whole decades, never many", () => {
    expect(decadeTicks(-1, 1).map((at) => Number((10 ** at).toPrecision(3)))).toEqual([
      0.1, 0.2, 0.5, 1, 2, 5, 10,
    ]);
    expect(decadeTicks(-2.5, 3.5)).toEqual([-2, -1, 0, 1, 2, 3]);
    expect(decadeTicks(-9, 9).length).toBeLessThanOrEqual(7);
  });
});
