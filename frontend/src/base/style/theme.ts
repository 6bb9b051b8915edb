/** The design tokens as plain colours, for charts on a canvas. */
import { fade, mix } from "./color";

/** How one category is filled: solid when busy, a pale dotted ground when idle. */
export interface Fill {
  readonly color: string;
  readonly border: string;
  /** Colour of the dots or stripes over the ground; null = none. */
  readonly mark: string | null;
  readonly pattern: "solid" | "dots" | "hatch" | "stripes";
}

export interface Theme {
  readonly surface: string;
  readonly line: string;
  readonly lineStrong: string;
  readonly ink: string;
  readonly ink2: string;
  readonly ink3: string;
  readonly font: string;
  fill(category: string, ghost: boolean): Fill;
}

const CATEGORIES = new Set([
  "compute",
  "comm",
  "memcpy",
  "memset",
  "runtime",
  "loader",
  "cpu",
  "cpu-light",
  "cpu-deep",
  "cpu-deepest",
  "other",
  "idle",
]);

/** The category's colour token stem; unknown ones are drawn as `other`. */
export function categoryStem(category: string): string {
  return CATEGORIES.has(category) ? category : "other";
}

/** Reads the tokens as they are now; call again when the theme changes. */
export function readTheme(): Theme {
  const style = getComputedStyle(document.documentElement);
  const token = (name: string) => style.getPropertyValue(name).trim();
  const percent = (name: string) => Number.parseFloat(token(name)) / 100 || 0;
  const surface = token("--surface");
  const lineStrong = token("--line-strong");

  function ghostFill(stem: string): Fill {
    if (stem === "other") {
      const color = token("--surface-2");
      return { color, border: lineStrong, mark: lineStrong, pattern: "hatch" };
    }
    const hue = token(`--k-${stem}`);
    return {
      color: mix(hue, surface, percent("--ghost")),
      border: mix(hue, surface, 0.45),
      mark: fade(hue, percent("--dot")),
      pattern: "dots",
    };
  }

  return {
    surface,
    line: token("--line"),
    lineStrong,
    ink: token("--ink"),
    ink2: token("--ink-2"),
    ink3: token("--ink-3"),
    font: token("--sans") || "sans-serif",
    fill(category, ghost) {
      if (category === "overlap") {
        const color = token("--k-compute");
        return { color, border: surface, mark: token("--k-comm"), pattern: "stripes" };
      }
      const stem = categoryStem(category);
      if (ghost) {
        return ghostFill(stem);
      }
      return { color: token(`--k-${stem}`), border: surface, mark: null, pattern: "solid" };
    },
  };
}
