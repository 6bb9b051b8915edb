/** The critical path below the steps: what made each of them as long as it is, from start to end. */
import { useEffect, useState } from "react";
import type { PathBand as Answer, PathPiece } from "../../../api/types.gen";
import { plural, time } from "../../../base/text/format";
import { harmless } from "../../../base/text/shown_name";
import { fillClass } from "../../../components/charts/category";
import { useAddress, useValues } from "../../../state/host/environment";
import { useAsked, usePart } from "../../../state/parts";
import type { Range } from "../state/address";
import { onRest, useTimelineContext, viewOf } from "../state/context";
import { withMargin } from "../state/range";
import { around, Band } from "./band";

const REST_MS = 150;
/** Wider than the window, so that a small move shows no gap. */
const MARGIN = 0.25;
export const PATH_SHOWN = "timeline.path";

/** The button beside "Steps" that shows and hides the path. */
export function PathToggle() {
  const address = useAddress();
  const isOn = useValues()[PATH_SHOWN] === "1";
  return (
    <button
      type="button"
      className="link tl-path-toggle"
      aria-pressed={isOn}
      title="The longest chain through host, launches and device, which makes a step as long as it is"
      onClick={() => address.replace({ [PATH_SHOWN]: isOn ? undefined : "1" })}
    >
      {isOn ? "hide path" : "critical path"}
    </button>
  );
}

/** What a piece says of itself. */
export function pieceWords(piece: PathPiece): string {
  const name = piece.name === "" ? "" : `: ${harmless(piece.name)}`;
  const said = [
    `${piece.label}${name}, ${time(piece.dur_ns)} of the critical path`,
    piece.parts > 1 ? `the longest of ${plural(piece.parts, "part")}` : "",
    piece.slack_ns < 0
      ? ""
      : `can get ${time(piece.slack_ns)} shorter until another chain is the longer one`,
    piece.inferred ? "reached by a dependency that is inferred" : "",
  ];
  return said.filter((words) => words !== "").join("\n");
}

export function PathBand() {
  const isOn = useValues()[PATH_SHOWN] === "1";
  return isOn ? (
    <>
      <span className="tl-head-title">Path</span>
      <Followed />
    </>
  ) : null;
}

function Followed() {
  const { moving } = useTimelineContext();
  const [range, setRange] = useState<(Range & { columns: number }) | null>(null);
  useEffect(() => {
    const settle = () => {
      const frame = moving.frame.get();
      if (frame.width > 0) {
        const { start, end } = withMargin(viewOf(frame), MARGIN);
        const columns = Math.round(Math.min(4096, Math.max(16, frame.width * (1 + 2 * MARGIN))));
        setRange({ start: Math.floor(start), end: Math.ceil(end) + 1, columns });
      }
    };
    settle();
    return onRest(moving.frame, REST_MS, settle);
  }, [moving.frame]);
  const { data, isLoading, problem } = usePart(
    "timeline/path",
    useAsked(),
    range === null ? null : { start_ns: range.start, end_ns: range.end, columns: range.columns },
    true,
  );
  if (problem !== null) {
    return <p className="tl-path dim">{problem.message}</p>;
  }
  if (data === undefined) {
    return <p className="tl-path dim">{isLoading ? "Following the longest chain…" : ""}</p>;
  }
  return <Pieces answer={data} />;
}

function Pieces({ answer }: { answer: Answer }) {
  const { sources, actions, link } = useTimelineContext();
  const [source] = sources;
  return (
    <Band
      pieces={answer.pieces}
      classOf={(piece) =>
        `${fillClass(piece.category, piece.ghost)} ${piece.slice >= 0 && piece.slice === link.select?.slice ? "on" : ""}`
      }
      wordsOf={pieceWords}
      onPress={(piece) =>
        piece.slice < 0
          ? actions.show(around(piece, source.offset))
          : actions.goToId(source, piece.slice)
      }
    />
  );
}
