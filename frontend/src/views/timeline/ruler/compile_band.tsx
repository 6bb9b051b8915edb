/** The compilations below the steps: first ones are warm-up, hatched; further ones are solid. */
import type { TimelineCompilation } from "../../../api/types.gen";
import { time } from "../../../base/text/format";
import { harmless } from "../../../base/text/shown_name";
import { fillClass } from "../../../components/charts/category";
import { useTimelineContext } from "../state/context";
import { around, Band } from "./band";

/** What a compilation says of itself. */
export function compilationWords({ id, name, dur_ns, is_again }: TimelineCompilation): string {
  const order = is_again ? "compiled again" : "first compilation, which is warm-up";
  return `${id} ${harmless(name)}, ${time(dur_ns)}\n${order}`;
}

export function CompileBand() {
  const { sources, actions } = useTimelineContext();
  const [source] = sources;
  const { compilations } = source.manifest;
  return compilations.length === 0 ? null : (
    <>
      <span className="tl-head-title">Compile</span>
      <Band
        pieces={compilations}
        classOf={({ is_again }) => fillClass("other", !is_again)}
        wordsOf={compilationWords}
        onPress={(piece) => actions.show(around(piece, source.offset))}
      />
    </>
  );
}
