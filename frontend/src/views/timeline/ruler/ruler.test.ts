import { describe, expect, it } from "vitest";
import { originOf, rulerModel, wallText } from "./ruler";

const STEPS = [
  { index: 0, name: "ProfilerStep#15", ts: 0, end: 16e6, length_ns: 16e6 },
  { index: 1, name: "ProfilerStep#16", ts: 16e6, end: 32e6, length_ns: 16e6 },
];

const plain = (text: string) => text.replaceAll("\u00a0", " ");

function labelled(start: number, end: number, unit: "step" | "trace" | "wall", baseNs = "0") {
  const model = rulerModel({
    view: { start, end },
    nsPerPx: (end - start) / 900,
    unit,
    steps: STEPS,
    baseNs,
  });
  const labels = model.ticks.filter((tick) => tick.label !== "");
  return {
    title: plain(model.title),
    labels: labels.map((tick) => tick.label),
    at: labels.map((tick) => tick.at),
    ticks: model.ticks,
  };
}

describe("numbers count", () => {
  it("from the step that begins in the first half of the view", () => {
    const ruler = labelled(15.5e6, 33.5e6, "step");
    expect(ruler.title).toBe("ms since step 16");
    expect(ruler.labels.slice(0, 4)).toEqual(["0", "2", "4", "6"]);
    expect(ruler.at[0]).toBe(16e6);
  });

  it("from the start of the trace", () => {
    const ruler = labelled(15.5e6, 33.5e6, "trace");
    expect(ruler.title).toBe("ms from the start");
    expect(ruler.labels[0]).toBe("16");
  });

  it("from the step around a view that none begins in", () => {
    expect(originOf(STEPS, { start: 20e6, end: 21e6 }, "step")).toEqual({
      at: 16e6,
      name: "step 16",
    });
    expect(originOf([], { start: 20e6, end: 21e6 }, "step").name).toBe("");
  });

  it("backwards before the origin", () => {
    expect(labelled(-10e6, 0.5e6, "trace").labels[0]).toBe("−10");
  });
});

it("says once what all labels share when the view is deep inside", () => {
  const ruler = labelled(19_930_400, 19_930_700, "step");
  expect(ruler.title).toBe("ns since step 16 + 3.93 ms");
  expect(ruler.labels).toEqual(["400", "450", "500", "550", "600", "650", "700"]);
});

it("never stands closer than words need, nor further than a screen", () => {
  for (let nsPerPx = 0.01; nsPerPx < 1e10; nsPerPx *= 3.7) {
    const view = { start: 123_456, end: 123_456 + 1200 * nsPerPx };
    const { ticks } = rulerModel({ view, nsPerPx, unit: "trace", steps: [], baseNs: "0" });
    const labels = ticks.filter((tick) => tick.label !== "");
    const distance = ((labels[1]?.at ?? 0) - (labels[0]?.at ?? 0)) / nsPerPx;
    if (nsPerPx * 90 >= 1) {
      expect(distance).toBeGreaterThanOrEqual(89.9);
      expect(distance).toBeLessThan(90 * 2.6);
      expect(new Set(labels.map((tick) => tick.label)).size).toBe(labels.length);
    }
  }
});

it("tells the wall clock to the nanosecond", () => {
  const base = 1_712_195_495_519_689_047n;
  expect(plain(wallText(base))).toMatch(/:35\.519 689 047$/);
  const ruler = labelled(0, 9e6, "wall", String(base));
  expect(ruler.labels[0]).toBe("35.520");
  expect(ruler.at[0]).toBe(310_953);
});

it("counts from the start where the recording knows no clock", () => {
  expect(labelled(0, 9e6, "wall", "0").title).toContain("since step 15");
});
