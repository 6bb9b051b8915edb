/** The critical path below the steps: what made each of them as long as it is, from start to end. */
import { type KeyboardEvent, useEffect, useState } from "react";
import type { PathBand as Answer, PathPiece } from "../../../api/types.gen";
import { plural, time } from "../../../base/text/format";
import { harmless } from "../../../base/text/shown_name";
import { walked } from "../../../base/walk";
import { fillClass } from "../../../components/charts/category";
import { useCell } from "../../../state/cell";
import { useAddress, useValues } from "../../../state/host/environment";
import { useAsked, usePart } from "../../../state/parts";
import type { Range } from "../state/address";
import { onRest, useTimelineContext, viewOf } from "../state/context";
import { withMargin } from "../state/range";

const REST_MS = 150;
/** Wider than the window, so that a small move shows no gap. */
const MARGIN = 0.25;
const LABEL_PX = 60;
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
      <Band />
    </>
  ) : null;
}

function Band() {
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
  const { sources, moving, actions, link } = useTimelineContext();
  const frame = useCell(moving.frame);
  const { nsPerPx, start } = frame.camera;
  const [source] = sources;
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const buttons = [...event.currentTarget.querySelectorAll("button")];
    const at = buttons.indexOf(event.target as HTMLButtonElement);
    const to = walked(event.key, at, buttons.length, ["ArrowLeft", "ArrowRight"]);
    if (to !== null && !event.shiftKey) {
      event.preventDefault();
      buttons[to]?.focus();
    }
  };
  const seen = answer.pieces.filter(({ ts, dur_ns }) => {
    const left = (ts + source.offset - start) / nsPerPx;
    return left < frame.width && left + dur_ns / nsPerPx > 0;
  });
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the buttons within take the keys
    <div className="tl-path" onKeyDown={onKeyDown}>
      {seen.map((piece, place) => {
        const from = (piece.ts + source.offset - start) / nsPerPx;
        const left = Math.max(0, from);
        const width = Math.min(frame.width, from + piece.dur_ns / nsPerPx) - left;
        const isSelected = piece.slice >= 0 && piece.slice === link.select?.slice;
        const words = pieceWords(piece);
        return (
          <button
            key={piece.ts}
            type="button"
            className={`tl-piece ${fillClass(piece.category, piece.ghost)} ${isSelected ? "on" : ""}`}
            style={{ transform: `translateX(${left}px)`, width: Math.max(1, width) }}
            tabIndex={place === 0 ? 0 : -1}
            title={words}
            onClick={() =>
              piece.slice < 0
                ? actions.show(
                    withMargin(
                      { start: piece.ts + source.offset, end: piece.ts + piece.dur_ns },
                      0.5,
                    ),
                  )
                : actions.goToId(source, piece.slice)
            }
          >
            <span className={width < LABEL_PX ? "unseen" : "clip"}>{words.split(",")[0]}</span>
          </button>
        );
      })}
    </div>
  );
}
