/** Styles and elements meet by name alone: a class that is renamed in one of them loses its layout. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const ROOT = import.meta.dirname;
const CLASS = /\.([a-z][a-z0-9-]*)(?=[^{}]*\{)/g;

const paths = readdirSync(ROOT, { recursive: true, encoding: "utf8" }).filter(
  (path) => !path.includes(".test."),
);
const read = (ending: RegExp) =>
  paths.filter((path) => ending.test(path)).map((path) => readFileSync(join(ROOT, path), "utf8"));

it("styles no class that no element has", () => {
  const styles = read(/\.css$/).map((text) => text.replace(/\/\*[\s\S]*?\*\//g, ""));
  const styled = new Set(
    styles.flatMap((text) => [...text.matchAll(CLASS)].map(([, name]) => name)),
  );
  const words = new Set(read(/\.tsx?$/).flatMap((text) => text.match(/[A-Za-z][A-Za-z0-9-]*/g)));
  expect(styled.size).toBeGreaterThan(200);
  expect([...styled].filter((name) => name !== undefined && !words.has(name))).toEqual([]);
});
