import { expect, it } from "vitest";
import { shapeText, shortFile } from "./arguments";
import { ordinal } from "./details";

it.each([
  [1, "1st"],
  [2, "2nd"],
  [3, "3rd"],
  [4, "4th"],
  [11, "11th"],
  [112, "112th"],
  [1021, "1,021st"],
])("counts %i as %s", (value, text) => {
  expect(ordinal(value)).toBe(text);
});

it.each([
  ["[10, 3, 224, 224]", "10×3×224×224"],
  ["[7]", "7"],
  ["[]", "–"],
  ["[[2, 2], [3]]", "[[2, 2], [3]]"],
])("writes the shape %s as %s", (shape, text) => {
  expect(shapeText(shape)).toBe(text);
});

it.each([
  ["/home/a/env/lib/python3.7/site-packages/torch/nn/functional.py", "torch/nn/functional.py"],
  ["/usr/lib/python3.11/threading.py", "threading.py"],
  ["/home/me/work/big/project/train.py", "…/big/project/train.py"],
  ["train_ddp.py", "train_ddp.py"],
])("shortens %s to %s", (file, text) => {
  expect(shortFile(file)).toBe(text);
});
