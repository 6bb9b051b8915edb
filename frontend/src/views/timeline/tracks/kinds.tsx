/** Kinds of slices in the legend, in lists and in bars. */
import { KIND } from "../../../base/style/kind_hues";

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
