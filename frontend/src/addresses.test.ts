/** The page works below any prefix and without a network: no address starts at a root or a host. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const ROOT = import.meta.dirname;
const ABSOLUTE = /(?:fetch|import|URL|url)\(\s*["'`]?(?:\/|https?:)/;

const sources = readdirSync(ROOT, { recursive: true, encoding: "utf8" }).filter(
  (path) => /\.(?:tsx?|css)$/.test(path) && !path.includes(".test."),
);

it("asks for nothing by an absolute address", () => {
  expect(sources.length).toBeGreaterThan(80);
  const absolute = sources.filter((path) => ABSOLUTE.test(readFileSync(join(ROOT, path), "utf8")));
  expect(absolute).toEqual([]);
});
