import { describe, expect, it } from "vitest";
import { chosenTab, formatFragment, parseFragment, patched, sameValues } from "./fragment";

const alone = { plugin: null };
const hosted = { plugin: "pytorch_profiler" };

const awkward = {
  view: "overview",
  run: "a/b c&d=e#f?g%h+ü",
  worker: "p.pytorch_profiler.run",
  steps: "1,4-6",
};

describe.each([
  ["alone", alone, ""],
  ["in TensorBoard", hosted, "#pytorch_profiler"],
  ["in TensorBoard beside others", hosted, "#scalars&p.other.run=x&tagFilter=loss"],
])("%s", (_, dialect, before) => {
  it("comes back as it went, whatever the names", () => {
    const fragment = formatFragment(before, awkward, dialect);
    expect(parseFragment(fragment, dialect)).toEqual(awkward);
  });
});

it("is short and legible alone", () => {
  expect(formatFragment("#old=1", { view: "health", run: "resnet50" }, alone)).toBe(
    "#view=health&run=resnet50",
  );
  expect(formatFragment("#old=1", {}, alone)).toBe("");
});

it("speaks TensorBoard's dialect and leaves others alone", () => {
  const before = "#pytorch_profiler&p.other.run=x%20y&p.pytorch_profiler.run=old&tagFilter=";
  const after = formatFragment(before, { run: "new" }, hosted);
  expect(after).toBe("#pytorch_profiler&p.other.run=x%20y&tagFilter=&p.pytorch_profiler.run=new");
  expect(parseFragment(after, hosted)).toEqual({ run: "new" });
  expect(parseFragment(after, { plugin: "other" })).toEqual({ run: "x y" });
});

it("finds the chosen tab", () => {
  expect(chosenTab("#scalars&p.pytorch_profiler.run=a")).toBe("scalars");
  expect(chosenTab("")).toBeNull();
  expect(chosenTab("#p.x.run=a")).toBeNull();
});

it("survives fragments that somebody broke", () => {
  expect(parseFragment("#run=%E0%A4%A&&&view=health", alone)).toEqual({
    run: "%E0%A4%A",
    view: "health",
  });
});

it("takes out what is empty", () => {
  const values = patched({ run: "a", steps: "3" }, { steps: "", span: undefined, view: "health" });
  expect(values).toEqual({ run: "a", view: "health" });
  expect(sameValues(values, { view: "health", run: "a" })).toBe(true);
  expect(sameValues(values, { view: "health", run: "b" })).toBe(false);
});
