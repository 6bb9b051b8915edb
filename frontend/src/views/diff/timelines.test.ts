import { expect, it } from "vitest";
import type { Piece, StepMarks, TimelineManifest, TimelineTrack } from "../../api/types.gen";
import { beginOf, type Lined, rowsOf, stepOf, tracksOf } from "./timelines";
import { sums } from "./trend";

const track = (kind: TimelineTrack["kind"], slices: number, busy_ns: number): TimelineTrack => ({
  key: `${kind}/${slices}`,
  group: 0,
  kind,
  label: kind,
  detail: "",
  lanes: slices === 0 ? 0 : 9,
  slices,
  busy_ns,
  first_ns: 0,
  last_ns: 1,
  overlaps: 0,
  hidden: 0,
  note: "",
});

const MANIFEST = {
  tracks: [
    track("thread", 10, 5),
    track("thread", 900, 50),
    track("python", 5000, 60),
    track("stream", 3, 1),
    track("stream", 0, 0),
    track("stream", 300, 40),
  ],
} as unknown as TimelineManifest;

const step = (name: string, start: number, phases: readonly (readonly [string, number])[] = []) =>
  ({
    name,
    start,
    end: start + 100,
    phases: phases.map(([phase, at]) => ({ name: phase, kind: "module", start: at, end: at + 5 })),
  }) satisfies StepMarks;

it("shows the thread with most ops, and the streams", () => {
  expect(tracksOf(MANIFEST)).toEqual([1, 3, 5]);
});

it("draws A above B, each with its own rows", () => {
  const asked = { key: { run: "", worker: "", span: "" }, digest: "" };
  const sides: readonly Lined[] = [
    { tag: "A", asked, manifest: MANIFEST, offset: 0 },
    { tag: "B", asked, manifest: MANIFEST, offset: -5 },
  ];
  const rows = rowsOf(sides);
  expect(rows.map(({ key }) => key)).toEqual(["A", "A 1", "A 3", "A 5", "B", "B 1", "B 3", "B 5"]);
  expect(rows.map((row) => (row.type === "track" ? row.source : -1))).toEqual([
    -1, 0, 0, 0, -1, 1, 1, 1,
  ]);
});

it("begins at a phase of the step, or where the step has none of that name, at the step", () => {
  const one = step("5", 1000, [["optimizer", 1060]]);
  expect(beginOf(one, "optimizer")).toBe(1060);
  expect(beginOf(one, "DataLoader")).toBe(1000);
  expect(beginOf(undefined, "")).toBe(0);
});

it("takes the step that was chosen, else the first that both have", () => {
  const [a, b] = [
    [step("3", 0), step("4", 100), step("5", 200)],
    [step("4", 0), step("6", 100)],
  ];
  expect(stepOf(a, b, "5")?.name).toBe("5");
  expect(stepOf(a, b, "77")?.name).toBe("4");
  expect(stepOf(b, [step("9", 0)], undefined)?.name).toBe("4");
});

it("adds the pieces up from the first one on", () => {
  const piece = (base_ns: number, other_ns: number) => ({ base_ns, other_ns }) as Piece;
  const found = sums([piece(70, 2), piece(30, 40)], (one) => [one.base_ns, one.other_ns]);
  expect(found.map(({ baseSum, otherSum }) => [baseSum, otherSum])).toEqual([
    [70, 2],
    [100, 42],
  ]);
});
