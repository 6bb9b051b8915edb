import { describe, expect, it } from "vitest";
import { random } from "../../../test-fixtures/fake_trace";
import {
  type Bounds,
  clamp,
  coarsestNsPerPx,
  FINEST_NS_PER_PX,
  type MutableCamera,
  showSpan,
  snappedStart,
  timeAt,
  xAt,
  zoomAround,
} from "./camera";

const HOUR = 3.6e12;
const bounds: Bounds = { low: 0, high: 2 * HOUR, width: 1000, maxScroll: 500 };

describe("an hour into a trace, at 1 ns per px", () => {
  it("a place is where it is to less than a tenth of a px", () => {
    const next = random(1);
    for (let i = 0; i < 1000; i += 1) {
      const camera = { start: HOUR + next() * 1e6, nsPerPx: 1, scrollY: 0 };
      const x = next() * 1000;
      expect(Math.abs(xAt(camera, timeAt(camera, x)) - x)).toBeLessThan(0.01);
    }
  });

  it("panning by a px moves everything by a px", () => {
    const camera: MutableCamera = { start: HOUR + 0.25, nsPerPx: 1, scrollY: 0 };
    const slice = HOUR + 500;
    for (let i = 0; i < 1000; i += 1) {
      const before = xAt(camera, slice);
      camera.start += camera.nsPerPx;
      expect(Math.abs(before - xAt(camera, slice) - 1)).toBeLessThan(0.01);
    }
  });

  it("a snapped left edge keeps each edge at the same part of a px while panning", () => {
    for (const dpr of [1, 1.5, 2, 3]) {
      const parts = new Set<string>();
      for (let i = 0; i < 50; i += 1) {
        const camera = { start: HOUR + i * 0.37, nsPerPx: 1, scrollY: 0 };
        const x = ((HOUR + 500.3 - snappedStart(camera, dpr)) / camera.nsPerPx) * dpr;
        parts.add((x - Math.floor(x)).toFixed(2));
      }
      expect(parts.size).toBe(1);
    }
  });
});

describe("zooming", () => {
  it("leaves what is below the pointer there, whatever the order", () => {
    const next = random(2);
    for (let run = 0; run < 100; run += 1) {
      const camera: MutableCamera = { start: HOUR, nsPerPx: 1e6, scrollY: 0 };
      const x = next() * 1000;
      const time = timeAt(camera, x);
      for (let i = 0; i < 40; i += 1) {
        zoomAround(camera, 0.5 + next(), x, bounds);
        const isFree = camera.start > bounds.low && timeAt(camera, 1000) < bounds.high;
        if (isFree) {
          expect(Math.abs(xAt(camera, time) - x)).toBeLessThan(0.1);
        } else {
          break;
        }
      }
    }
  });

  it("ends at a fiftieth of a ns per px and a little beyond the whole trace", () => {
    const camera: MutableCamera = { start: 0, nsPerPx: 1, scrollY: 0 };
    zoomAround(camera, 1e-9, 500, bounds);
    expect(camera.nsPerPx).toBe(FINEST_NS_PER_PX);
    zoomAround(camera, 1e30, 500, bounds);
    expect(camera.nsPerPx).toBe(coarsestNsPerPx(bounds));
    expect(camera.nsPerPx).toBeCloseTo((1.25 * 2 * HOUR) / 1000);
  });
});

describe("the bounds", () => {
  it("always leave three quarters of the view on the recording", () => {
    const next = random(3);
    for (let i = 0; i < 500; i += 1) {
      const camera: MutableCamera = {
        start: (next() - 0.5) * 20 * HOUR,
        nsPerPx: 10 ** (next() * 16 - 3),
        scrollY: (next() - 0.5) * 5000,
      };
      clamp(camera, bounds);
      const view = camera.nsPerPx * bounds.width;
      expect(camera.start).toBeGreaterThanOrEqual(-0.2501 * view);
      expect(timeAt(camera, bounds.width)).toBeLessThanOrEqual(bounds.high + 0.2501 * view);
      expect(camera.scrollY).toBeGreaterThanOrEqual(0);
      expect(camera.scrollY).toBeLessThanOrEqual(bounds.maxScroll);
    }
  });

  it("make something sensible of nonsense", () => {
    const camera = { start: Number.NaN, nsPerPx: Number.POSITIVE_INFINITY, scrollY: Number.NaN };
    clamp(camera, bounds);
    expect(Object.values(camera).every(Number.isFinite)).toBe(true);
  });
});

it("a span is shown whole, with a margin", () => {
  const camera: MutableCamera = { start: 0, nsPerPx: 1, scrollY: 0 };
  showSpan(camera, HOUR, HOUR + 900, bounds, 0.05);
  expect(camera.nsPerPx).toBe(1);
  expect(xAt(camera, HOUR)).toBeCloseTo(50);
  expect(xAt(camera, HOUR + 900)).toBeCloseTo(950);
  showSpan(camera, HOUR, HOUR, bounds, 0.05);
  expect(camera.nsPerPx).toBe(FINEST_NS_PER_PX);
});
