/** Kinds of slices in the legend, in lists and in bars. */
import { KIND } from "../../../base/style/kind_hues";

/** Category of the page's fills, for bars in tables. */
const CATEGORIES: Readonly<Record<number, string>> = {
  [KIND.op]: "cpu",
  [KIND.runtime]: "runtime",
  [KIND.loader]: "loader",
  [KIND.compute]: "compute",
  [KIND.communication]: "comm",
  [KIND.memcpy]: "memcpy",
  [KIND.memset]: "memset",
};

export const kindCategory = (kind: number): string => CATEGORIES[kind] ?? "other";

/** Kinds worth a place in the legend, in its order; others are named when they are selected. */
export const LEGEND_ORDER: readonly number[] = [
  KIND.op,
  KIND.module,
  KIND.python,
  KIND.loader,
  KIND.runtime,
  KIND.compute,
  KIND.communication,
  KIND.memcpy,
  KIND.memset,
  KIND.annotation,
  KIND.sync,
];

/** A small square in the hue of a kind. */
export function KindSwatch({ fill }: { fill: string | undefined }) {
  return <i className="swatch" style={{ background: fill }} aria-hidden="true" />;
}
