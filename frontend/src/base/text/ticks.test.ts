import { expect, it } from "vitest";
import { roundTicks } from "./ticks";

it.each([
  [177.6, 9, [0, 20, 40, 60, 80, 100, 120, 140, 160]],
  [1, 4, [0, 0.5]],
  [0.9, 4, [0, 0.5]],
  [100, 5, [0, 20, 40, 60, 80]],
  [0, 5, [0]],
])("below %d about %d round ticks", (end, wanted, ticks) => {
  expect(roundTicks(end, wanted)).toEqual(ticks);
});
