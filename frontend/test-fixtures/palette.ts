/** A palette whose colours tell a test where they come from. */
import type { TimelinePalette } from "../src/timeline/contract";

const two = (value: number) => value.toString(16).padStart(2, "0");

/** The fill of a kind and step: its red channel is the kind, its green one the step. */
export const fillOf = (kind: number, step: number): string => `#${two(kind + 1)}${two(step)}80`;

export const testPalette: TimelinePalette = {
  background: "#ffffff",
  line: "#e3e6eb",
  ink: "#14181f",
  inkFaint: "#616b79",
  accent: "#4338ca",
  accentSoft: "#ecebfc",
  focus: "#4338ca",
  kinds: Array.from({ length: 16 }, (_, kind) => ({
    fills: [0, 1, 2, 3].map((step) => fillOf(kind, step)),
    inks: ["#ffffff", "#000000", "#ffffff", "#000000"],
  })),
  counter: { memory: "#2f9564", utilization: "#3c5fc0", other: "#e0ac1e" },
  hatch: "#00000040",
};
