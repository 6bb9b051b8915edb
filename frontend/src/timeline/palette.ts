/** The colours of the timeline out of the page's tokens. */
import { useMemo } from "react";
import { documentTokens, kindPaints, type Tokens } from "../base/style/kind_hues";
import { useThemeName } from "../state/host/environment";
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

/** The palette of the present theme. */
export function usePalette(): TimelinePalette {
  const theme = useThemeName();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the tokens are those of the theme
  return useMemo(() => timelinePalette(documentTokens), [theme]);
}
