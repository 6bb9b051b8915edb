/** Which hue is what, of the kinds that this trace has. */
import { textWidth, useWidth } from "../../../base/measure";
import { KIND, kindWord } from "../../../base/style/kind_hues";
import { plural } from "../../../base/text/format";
import { Tip } from "../../../components/overlays/tip";
import { useTimelineContext } from "../state/context";
import { KindSwatch, LEGEND_ORDER } from "./kinds";

const SHOWN_MAX = 7;
const FONT = '400 11px system-ui, "Segoe UI", Roboto, "Liberation Sans", sans-serif';
const SWATCH = 17;
const GAP = 10;
const ROUNDING = 2;

/** How many of some kinds, the most important first, have room beside the word for the others. */
export function fitting(kinds: readonly number[], room: number): number {
  const most = Math.min(kinds.length, SHOWN_MAX);
  if (room === 0) {
    return most;
  }
  const widthOf = (text: string) => textWidth(text, FONT) + GAP;
  const widths = kinds.map((kind) => widthOf(kindWord(kind)) + SWATCH);
  const fits = (shown: number) =>
    widths.slice(0, shown).reduce((sum, width) => sum + width, 0) +
      (shown < kinds.length ? widthOf(othersWord(kinds.length - shown, shown)) : 0) <=
    room + GAP - ROUNDING;
  let shown = most;
  while (shown > 0 && !fits(shown)) {
    shown -= 1;
  }
  return shown;
}

const othersWord = (others: number, shown: number) =>
  shown === 0 ? plural(others, "kind") : `${others} more`;

export function KindLegend() {
  const { sources } = useTimelineContext();
  const slices = new Map<number, number>();
  for (const { manifest } of sources) {
    for (const kind of manifest.kinds) {
      slices.set(kind.kind, (slices.get(kind.kind) ?? 0) + kind.slices);
    }
  }
  const present = LEGEND_ORDER.filter((kind) => (slices.get(kind) ?? 0) > 0);
  const [list, room] = useWidth<HTMLUListElement>();
  // What is frequent first to stay, in the usual order.
  const ranked = [...present].sort((a, b) => rank(a) - rank(b));
  const kept = new Set(ranked.slice(0, fitting(ranked, room)));
  const others = present.filter((kind) => !kept.has(kind)).map(kindWord);
  return (
    <ul ref={list} className="legend tl-legend" aria-label="Kinds of slices">
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
          <Tip
            text={`${kept.size === 0 ? "In" : "Also in"} this trace: ${others.join(", ")}`}
            className=""
          >
            {othersWord(others.length, kept.size)}
          </Tip>
        </li>
      )}
    </ul>
  );
}

/** What gives way first where there are too many kinds. */
const MINOR: readonly number[] = [KIND.annotation, KIND.sync, KIND.memset, KIND.loader];
const rank = (kind: number) => MINOR.indexOf(kind) + (MINOR.includes(kind) ? 100 : 0);
