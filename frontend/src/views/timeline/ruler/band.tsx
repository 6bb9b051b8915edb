/** Stretches of time in one row above the tracks, each a button; arrows walk among them. */
import type { KeyboardEvent } from "react";
import { walked } from "../../../base/walk";
import { useCell } from "../../../state/cell";
import type { Range } from "../state/address";
import { useTimelineContext } from "../state/context";
import { withMargin } from "../state/range";

const LABEL_PX = 60;

interface Stretch {
  readonly ts: number;
  readonly dur_ns: number;
}

interface BandProps<P extends Stretch> {
  readonly pieces: readonly P[];
  readonly classOf: (piece: P) => string;
  /** The first line, up to a comma, is its label. */
  readonly wordsOf: (piece: P) => string;
  readonly onPress: (piece: P) => void;
}

/** A stretch with half of its length on both sides. */
export const around = ({ ts, dur_ns }: Stretch, offset: number): Range =>
  withMargin({ start: ts + offset, end: ts + dur_ns + offset }, 0.5);

export function Band<P extends Stretch>({ pieces, classOf, wordsOf, onPress }: BandProps<P>) {
  const { sources, moving } = useTimelineContext();
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
  const seen = pieces.filter(({ ts, dur_ns }) => {
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
        const words = wordsOf(piece);
        return (
          <button
            // biome-ignore lint/suspicious/noArrayIndexKey: two may begin at one instant
            key={`${piece.ts} ${place}`}
            type="button"
            className={`tl-piece ${classOf(piece)}`}
            style={{ transform: `translateX(${left}px)`, width: Math.max(1, width) }}
            tabIndex={place === 0 ? 0 : -1}
            title={words}
            onClick={() => onPress(piece)}
          >
            <span className={width < LABEL_PX ? "unseen" : "clip"}>{words.split(",")[0]}</span>
          </button>
        );
      })}
    </div>
  );
}
