import { describe, expect, it } from "vitest";
import { random } from "../../../test-fixtures/fake_trace";
import { Strip } from "./strip";

const RED = 0xff0000ff;
const BLUE = 0xffff0000;

const paint = (width: number, draw: (strip: Strip) => void): Strip => {
  const strip = new Strip();
  strip.reset(width);
  strip.openRow();
  draw(strip);
  strip.closeRow();
  return strip;
};

const row = (strip: Strip, index = 0) =>
  [...strip.pixels.subarray(index * strip.width, (index + 1) * strip.width)].map((pixel) =>
    pixel.toString(16).padStart(8, "0"),
  );

describe("a row of pixels", () => {
  it("holds whole columns", () => {
    const strip = paint(6, (each) => each.solid(1, 3, RED));
    expect(row(strip)).toEqual(["00000000", "ff0000ff", "ff0000ff", ...Array(3).fill("00000000")]);
    expect([strip.low[0], strip.high[0]]).toEqual([1, 3]);
  });

  it("is as opaque as it is busy, but never less than a quarter", () => {
    const strip = paint(4, (each) => {
      each.fine(0, 1, 1, RED);
      each.fine(1, 2, 0.6, RED);
      each.fine(2, 3, 0.01, RED);
    });
    expect(row(strip)).toEqual(["ff0000ff", "990000ff", "400000ff", "00000000"]);
  });

  it("adds up what shares a column, and has the colour of the most of it", () => {
    const strip = paint(2, (each) => {
      each.fine(0, 0.25, 1, RED);
      each.fine(0.25, 0.75, 1, BLUE);
      each.fine(1.5, 2, 0, RED);
    });
    expect(row(strip)).toEqual(["bfff0000", "400000ff"]);
  });

  it("gives a sliver of a column a sliver of colour", () => {
    const strip = paint(3, (each) => each.fine(0.96, 1.96, 1, RED));
    const [first, second] = [...strip.pixels].map((pixel) => pixel >>> 24);
    expect(first).toBeLessThan(12);
    expect(second).toBeGreaterThan(240);
  });

  it("lets whole columns win over what is between them", () => {
    const strip = paint(3, (each) => {
      each.fine(0, 3, 1, BLUE);
      each.solid(1, 2, RED);
    });
    expect(row(strip)).toEqual(["ffff0000", "ff0000ff", "ffff0000"]);
  });

  it("is not touched by what lies beside it, or nowhere", () => {
    const strip = paint(3, (each) => {
      for (const [a, b] of [
        [-5, -1],
        [3, 9],
        [2, 1],
        [Number.NaN, 2],
        [0, Number.NaN],
      ] as const) {
        each.fine(a, b, 1, RED);
        each.solid(a, b, RED);
      }
    });
    expect(row(strip)).toEqual(["00000000", "00000000", "00000000"]);
    expect(strip.high[0]).toBeLessThanOrEqual(strip.low[0] ?? 0);
  });

  it("starts empty, whatever was in it before", () => {
    const strip = paint(3, (each) => {
      each.solid(0, 3, RED);
      each.fine(0, 3, 1, RED);
    });
    strip.reset(3);
    strip.openRow();
    strip.closeRow();
    expect(row(strip)).toEqual(["00000000", "00000000", "00000000"]);
  });

  it("keeps its pixels when more rows are needed than there were", () => {
    const strip = new Strip();
    strip.reset(2);
    for (let i = 0; i < 300; i += 1) {
      strip.openRow();
      strip.solid(0, 1, RED + i);
      strip.closeRow();
    }
    expect([...strip.pixels].filter((_, place) => place % 2 === 0 && place < 600)).toEqual(
      Array.from({ length: 300 }, (_, i) => RED + i),
    );
  });
});

it("opacity is the covered share of each column, for any slices", () => {
  const next = random(11);
  for (let run = 0; run < 200; run += 1) {
    const spans: [number, number][] = [];
    for (let at = next() * 2; at < 50; ) {
      const end = at + next() * 1.9;
      spans.push([at, end]);
      at = end + next() * 3;
    }
    const strip = paint(50, (each) => {
      for (const [a, b] of spans) {
        each.fine(a, b, 1, RED);
      }
    });
    for (let column = 0; column < 50; column += 1) {
      const covered = spans.reduce(
        (sum, [a, b]) => sum + Math.max(0, Math.min(b, column + 1) - Math.max(a, column)),
        0,
      );
      const least = 0.25 * Math.min(1, 2 * covered);
      const alpha = ((strip.pixels[column] ?? 0) >>> 24) / 255;
      expect(Math.abs(alpha - Math.max(least, Math.min(1, covered)))).toBeLessThan(0.01);
    }
  }
});
