import { expect, it } from "vitest";
import { MANIFEST } from "../../../../test-fixtures/timeline";
import { KIND } from "../../../base/style/kind_hues";
import type { SliceTile } from "../../../timeline/frame/slices";
import { hostBusy, hostQuestion } from "./minimap";

/**
 * One tile of the main thread, in columns:
 *   lane 0  |step ─────────────────| 0–8
 *   lane 1   |op 1–3.5|  3 short ones in column 5, half of it
 */
const TILE: SliceTile = {
  type: "slices",
  track: 0,
  lane: 0,
  lanes: 2,
  level: 16,
  tile: 0,
  rectFirst: Uint32Array.of(0, 1, 2),
  x0: Float32Array.of(0, 1),
  x1: Float32Array.of(8, 3.5),
  rect: Uint32Array.of(0, 1),
  rectName: Uint32Array.of(0, 1),
  rectKind: Uint8Array.of(KIND.annotation, KIND.op),
  rectFlags: Uint8Array.of(0, 0),
  bucketFirst: Uint32Array.of(0, 0, 1),
  count: Uint32Array.of(3),
  longest: Uint32Array.of(2),
  bucketName: Uint32Array.of(1),
  x: Uint16Array.of(5),
  bucketKind: Uint8Array.of(KIND.op),
  busy: Uint8Array.of(128),
  slices: 5,
  sumNs: 0,
  bytes: 0,
  used: 0,
};

it("asks for the coarse tiles of the busiest threads", () => {
  expect(hostQuestion(MANIFEST)).toEqual({
    level: 16,
    tiles: "0-1",
    blocks: "0.0,2.0",
    columns: 733,
  });
  expect(hostQuestion({ ...MANIFEST, tracks: [] })).toBeNull();
});

it("counts work, not the ranges around it", () => {
  const busy = hostBusy(MANIFEST, [TILE], 8).get(0) ?? [];
  expect([...busy].map((share) => Math.round(share * 100))).toEqual([0, 100, 100, 50, 0, 50, 0, 0]);
});
