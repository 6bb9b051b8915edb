/** The colours of the timeline out of the page's tokens. */
import { kindPaints, type Tokens } from "../base/style/kind_hues";
import type { TimelinePalette } from "./contract";

export function timelinePalette(tokens: Tokens): TimelinePalette {
  const surface = tokens("--surface");
  return {
    background: surface,
    line: tokens("--line"),
    ink: tokens("--ink"),
    inkFaint: tokens("--ink-3"),
    accent: tokens("--accent"),
    accentSoft: tokens("--accent-soft"),
    focus: tokens("--focus"),
    kinds: kindPaints(tokens),
    counter: {
      memory: tokens("--m-act"),
      utilization: tokens("--k-compute"),
      other: tokens("--k-runtime"),
    },
    hatch: tokens("--line-strong"),
  };
}
