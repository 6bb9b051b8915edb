/** The layers of the page, and the size of its files. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect, it } from "vitest";

const ROOT = import.meta.dirname;
/** Each may import those before it. Files beside the folders are entries, above all. */
const LAYERS = ["base", "api", "state", "components", "timeline", "views", "shell", "entry"];
const LINES_MAX = 400;

const sources = readdirSync(ROOT, { recursive: true, encoding: "utf8" })
  .filter((path) => /\.tsx?$/.test(path))
  .map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }));

const own = sources.filter(({ path }) => !/\.test\.|\.gen\./.test(path));

function layerOf(path: string): string {
  const folder = path.split("/")[0] ?? "";
  return path.includes("/") || LAYERS.includes(folder) ? folder : "entry";
}

/** What a file imports of ours, as paths below the root. */
function importsOf(path: string, text: string): string[] {
  const named = [...text.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)];
  return named.map((match) => normalize(join(dirname(path), match[1] ?? "")));
}

it("imports downwards only", () => {
  const upward = own.flatMap(({ path, text }) =>
    importsOf(path, text)
      .filter((target) => LAYERS.indexOf(layerOf(target)) > LAYERS.indexOf(layerOf(path)))
      .map((target) => `${path} -> ${target}`),
  );
  expect(upward).toEqual([]);
});

it("knows each of its folders as a layer", () => {
  expect(own.map(({ path }) => layerOf(path)).filter((name) => !LAYERS.includes(name))).toEqual([]);
});

it("has views that do not know each other", () => {
  const stem = (path: string) => /^views\/([^./]+)/.exec(path)?.[1];
  const across = own
    .filter(({ path }) => layerOf(path) === "views" && stem(path) !== "index")
    .flatMap(({ path, text }) =>
      importsOf(path, text)
        .filter((target) => layerOf(target) === "views" && stem(target) !== stem(path))
        .map((target) => `${path} -> ${target}`),
    );
  expect(across).toEqual([]);
});

it("has small files", () => {
  const long = sources.filter(
    ({ path, text }) => !path.includes(".gen.") && text.split("\n").length > LINES_MAX,
  );
  expect(long.map(({ path }) => path)).toEqual([]);
});

it("asks for nothing by an address that starts at the root or at another host", () => {
  const absolute = own.filter(({ text }) =>
    /(?:fetch|import|URL)\(\s*["'`](?:\/|https?:)/.test(text),
  );
  expect(absolute.map(({ path }) => path)).toEqual([]);
});
