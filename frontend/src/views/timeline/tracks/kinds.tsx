/** Kinds of slices in the legend, in lists and in bars. */
import { KIND } from "../../../base/style/kind_hues";
import { CodeName } from "../../../components/text/code_name";
import { useTimelineContext } from "../state/context";

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
export function KindSwatch({ kind }: { kind: number }) {
  const { palette } = useTimelineContext();
  const background = palette.kinds[kind]?.fills[0];
  return <i className="swatch" style={{ background }} aria-hidden="true" />;
}

/** The name of a slice in a list, with the square of its kind. */
export function KindName({ kind, name }: { kind: number; name: string }) {
  return (
    <span className="kind-name clip">
      <KindSwatch kind={kind} />
      <CodeName name={name} />
    </span>
  );
}
