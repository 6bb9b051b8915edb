/** A class that is renamed in a component only loses its style without a word. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const files = readdirSync(root, { recursive: true, encoding: "utf8" });

function textOf(pattern: RegExp): string {
  return files
    .filter((name) => pattern.test(name) && !/\.(test|gen)\./.test(name))
    .map((name) => readFileSync(join(root, name), "utf8"))
    .join("\n");
}

test("every class of the style sheets is used by a component", () => {
  const selectors = textOf(/\.css$/)
    .replace(/\/\*.*?\*\//gs, "")
    .replace(/\{[^{}]*\}/g, "{}");
  const styled = new Set([...selectors.matchAll(/\.([A-Za-z_][\w-]*)/g)].map((one) => one[1]));
  const words = new Set(textOf(/\.tsx?$/).match(/[A-Za-z_][\w-]*/g));
  expect(styled.size).toBeGreaterThan(200);
  expect([...styled].filter((one) => one !== undefined && !words.has(one))).toEqual([]);
});

test("every token that is read is defined", () => {
  const css = textOf(/\.css$/);
  const read = [...`${css}\n${textOf(/\.tsx?$/)}`.matchAll(/(?:var\(|["'])(--[\w-]*\w)\b/g)];
  const defined = new Set([...css.matchAll(/(--[\w-]+)\s*:/g)].map((one) => one[1]));
  expect(read.length).toBeGreaterThan(400);
  expect(read.map((one) => one[1]).filter((one) => !defined.has(one))).toEqual([]);
});
