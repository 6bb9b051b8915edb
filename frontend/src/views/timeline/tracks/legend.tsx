/** Which hue is what, of the kinds that this trace has. */
import { KIND, kindWord } from "../../../base/style/kind_hues";
import { plural } from "../../../base/text/format";
import { Tip } from "../../../components/overlays/tip";
import { useTimelineContext } from "../state/context";
import { KindSwatch, LEGEND_ORDER } from "./kinds";

const SHOWN_MAX = 7;

export function KindLegend() {
  const { sources } = useTimelineContext();
  const slices = new Map<number, number>();
  for (const { manifest } of sources) {
    for (const kind of manifest.kinds) {
      slices.set(kind.kind, (slices.get(kind.kind) ?? 0) + kind.slices);
    }
  }
  const present = LEGEND_ORDER.filter((kind) => (slices.get(kind) ?? 0) > 0);
  // What is frequent first to stay, in the usual order.
  const kept = new Set([...present].sort((a, b) => rank(a) - rank(b)).slice(0, SHOWN_MAX));
  const others = present.filter((kind) => !kept.has(kind)).map(kindWord);
  return (
    <ul className="legend tl-legend" aria-label="Kinds of slices">
      {present
        .filter((kind) => kept.has(kind))
        .map((kind) => (
          <li key={kind} title={plural(slices.get(kind) ?? 0, "slice")}>
            <span className="entry">
              <KindSwatch kind={kind} />
              {kindWord(kind)}
            </span>
          </li>
        ))}
      {others.length === 0 ? null : (
        <li>
          <Tip text={`Also in this trace: ${others.join(", ")}`} className="">
            {others.length} more
          </Tip>
        </li>
      )}
    </ul>
  );
}

/** What gives way first where there are too many kinds. */
const MINOR: readonly number[] = [KIND.annotation, KIND.sync, KIND.memset, KIND.loader];
const rank = (kind: number) => MINOR.indexOf(kind) + (MINOR.includes(kind) ? 100 : 0);
