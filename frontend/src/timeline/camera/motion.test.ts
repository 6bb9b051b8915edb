import { describe, expect, it } from "vitest";
import { type MutableCamera, timeAt, xAt } from "./camera";
import { approach, HeldKeys } from "./motion";
import { type Extents, View } from "./view";

const FRAME_MS = 16;
const bounds = { low: 0, high: 1e12, width: 1000, maxScroll: 1000 };

describe("the approach", () => {
  it("comes to rest exactly where it is wanted", () => {
    const camera: MutableCamera = { start: 0, nsPerPx: 1e9, scrollY: 0 };
    const target = { start: 5e11, nsPerPx: 1, scrollY: 333 };
    let frames = 0;
    while (!approach(camera, target, FRAME_MS, 1000)) {
      frames += 1;
      expect(frames).toBeLessThan(200);
    }
    expect(camera).toEqual(target);
  });

  it("holds the time below the pointer while it zooms", () => {
    const camera: MutableCamera = { start: 1e11, nsPerPx: 1e6, scrollY: 0 };
    const x = 300;
    const time = timeAt(camera, x);
    const target = { start: time - x * 100, nsPerPx: 100, scrollY: 0 };
    for (let i = 0; i < 100; i += 1) {
      approach(camera, target, FRAME_MS, 1000);
      expect(Math.abs(xAt(camera, time) - x)).toBeLessThan(0.5);
    }
  });

  it("never overshoots, whatever the frame rate", () => {
    for (const ms of [1, 8, 16, 60, 1000]) {
      const camera: MutableCamera = { start: 0, nsPerPx: 1, scrollY: 0 };
      let before = 0;
      for (let i = 0; i < 300; i += 1) {
        approach(camera, { start: 1000, nsPerPx: 1, scrollY: 0 }, ms, 1000);
        expect(camera.start).toBeGreaterThanOrEqual(before);
        expect(camera.start).toBeLessThanOrEqual(1000);
        before = camera.start;
      }
    }
  });
});

describe("a held key", () => {
  const distance = (frames: number, isFast = false) => {
    const held = new HeldKeys();
    const camera: MutableCamera = { start: 1e9, nsPerPx: 1, scrollY: 0 };
    held.press("right", isFast);
    for (let i = 0; i < frames; i += 1) {
      held.advance(camera, FRAME_MS, bounds, 500);
    }
    return camera.start - 1e9;
  };

  it("moves ever faster, and faster still with Shift", () => {
    expect(distance(60)).toBeGreaterThan(2.2 * distance(30));
    expect(distance(30, true)).toBeCloseTo(3 * distance(30));
  });

  it("stops when it goes up", () => {
    const held = new HeldKeys();
    held.press("in", false);
    held.press("in", true);
    held.release("in");
    expect(held.isEmpty).toBe(true);
  });
});

describe("the view", () => {
  const extents: Extents = {
    low: 0,
    high: 1e9,
    width: 1000,
    height: 400,
    rowsHeight: 1000,
    pinnedHeight: 100,
  };

  it("shows what was asked for before there was a canvas", () => {
    let width = 0;
    const view = new View(
      () => ({ ...extents, width }),
      () => false,
    );
    view.show(1e8, 2e8, false);
    width = 1000;
    view.refit();
    expect(view.camera().nsPerPx).toBeCloseTo(1e8 / 1000);
  });

  it("jumps where motion is not wanted", () => {
    const view = new View(
      () => extents,
      () => true,
    );
    view.show(1e8, 2e8, false);
    expect(view.advance(FRAME_MS, 0)).toBe(false);
    expect(view.camera()).toEqual({ ...view.target });
  });

  it("scrolls no farther than needed to show a lane", () => {
    const view = new View(
      () => extents,
      () => true,
    );
    view.reveal(100, 18);
    expect(view.target.scrollY).toBe(0);
    view.reveal(600, 18);
    expect(view.target.scrollY).toBe(600 + 18 + 24 - 300);
    view.reveal(500, 18);
    expect(view.target.scrollY).toBe(600 + 18 + 24 - 300);
    view.reveal(0, 18);
    expect(view.target.scrollY).toBe(0);
  });

  it("shows the same span on a wider canvas", () => {
    let width = 1000;
    const view = new View(
      () => ({ ...extents, width }),
      () => true,
    );
    view.show(1e8, 2e8, true);
    const end = view.targetSpan().end;
    width = 1500;
    view.resize(1000);
    expect(view.targetSpan().end).toBeCloseTo(end);
  });

  it("repeated calls of pan gain speed", () => {
    const view = new View(
      () => ({ ...extents, high: 1e15 }),
      () => true,
    );
    view.show(1e8, 2e8, true);
    const step = (nowMs: number) => {
      const before = view.target.start;
      view.panShare(0.1, nowMs);
      return view.target.start - before;
    };
    const first = step(0);
    expect(step(33)).toBeGreaterThan(first);
    expect(step(1000)).toBeCloseTo(first);
  });
});
