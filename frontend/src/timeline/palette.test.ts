import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { contrast, KIND } from "../base/style/kind_hues";
import { timelinePalette } from "./palette";

const css = readFileSync(join(import.meta.dirname, "../base/style/css/tokens.css"), "utf8");

/** The tokens of a theme, as the page resolves them. */
function tokensOf(theme: "light" | "dark") {
  const [light = "", dark = ""] = css.split('[data-theme="dark"]');
  const values = new Map<string, string>();
  for (const block of theme === "dark" ? [light, dark] : [light]) {
    for (const [, name = "", value = ""] of block.matchAll(/(--[\w-]+):\s*([^;]+);/g)) {
      values.set(name, value.trim());
    }
  }
  return (name: string) => values.get(name) ?? "";
}

describe.each(["light", "dark"] as const)("in the %s theme", (theme) => {
  const palette = timelinePalette(tokensOf(theme));

  it("every label can be read upon its slice", () => {
    for (const { fills, inks } of palette.kinds) {
      fills.forEach((fill, i) => {
        expect(contrast(fill, inks[i] ?? "")).toBeGreaterThanOrEqual(4.5);
      });
    }
  });

  it("names of one kind differ, kinds differ more", () => {
    const { fills } = palette.kinds[KIND.op] ?? { fills: [] };
    expect(new Set(fills).size).toBe(fills.length);
    const firsts = [KIND.op, KIND.runtime, KIND.compute, KIND.communication, KIND.memcpy];
    expect(new Set(firsts.map((kind) => palette.kinds[kind]?.fills[0])).size).toBe(firsts.length);
  });

  it("what is no work is pale", () => {
    const ground = palette.background;
    for (const kind of [KIND.annotation, KIND.python, KIND.module]) {
      for (const fill of palette.kinds[kind]?.fills ?? []) {
        expect(contrast(fill, ground)).toBeLessThan(2.1);
      }
    }
  });
});
