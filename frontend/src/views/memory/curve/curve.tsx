/**
 * The curve, to be looked at closely. Dragging chooses a range, a click an instant; Esc or the right
 * button leads back to all. With keys: arrows move, Shift with arrows chooses, Enter takes the instant.
 */
import {
  type KeyboardEvent,
  type PointerEvent,
  useCallback,
  useMemo,
  useRef,
  useState,
} from "react";
import type { MemoryCurve, StepMark } from "../../../api/types.gen";
import { useWidth } from "../../../base/measure";
import { documentTokens } from "../../../base/style/kind_hues";
import { bytes, time } from "../../../base/text/format";
import { LiveCanvas } from "../../../components/charts/live_canvas";
import { type Cell, cell } from "../../../state/cell";
import { useThemeName } from "../../../state/host/environment";
import type { TimeRange } from "../choice";
import { extentOf, frameOf, instantAt, movedInstant, pointAt, rangeBetween, xOf } from "./frame";
import { type Life, paintCurve, paintOverlay } from "./paint";

export const CURVE_HEIGHT = 268;
/** How far a press may move and still be a click, and how near an end is taken hold of. */
const CLICK_PX = 4;
const GRIP_PX = 6;
/** How far keys move, as shares of what is shown; with Ctrl, so many times as far. */
const MOVES: Readonly<Record<string, number>> = {
  ArrowLeft: -0.01,
  ArrowRight: 0.01,
  PageUp: -0.1,
  PageDown: 0.1,
  Home: -1,
  End: 1,
};
const FAR = 10;

export interface CurveProps {
  readonly curve: MemoryCurve;
  readonly steps: readonly StepMark[];
  readonly capacity: number | null;
  /** The layer that is singled out. */
  readonly active: string | null;
  readonly range: TimeRange | null;
  readonly onRange: (range: TimeRange | null) => void;
  /** The instant that the treemap shows. */
  readonly instant: number | null;
  readonly onInstant: (instant: number) => void;
  /** Where the pointer, or the keyboard, is. */
  readonly cursor: Cell<number | null>;
  /** The block that is pointed at elsewhere. */
  readonly life: Cell<Life | null>;
}

/** A press that is held: the end that stays, and where it began. */
interface Press {
  readonly fixed: number;
  readonly x: number;
  readonly isGrip: boolean;
}

/** How one speaks of the whole picture. */
export function spokenCurve(curve: MemoryCurve): string {
  const what = curve.is_change ? "Change of allocated memory" : "Allocated memory";
  return `${what} from ${time(curve.start_ns)} to ${time(curve.end_ns)}, highest ${bytes(curve.peak_bytes)} at ${time(curve.peak_ns)}. Arrows move, Shift and arrows choose a range, Enter shows what is alive, Escape goes back to all.`;
}

export function Curve(props: CurveProps) {
  const { curve, steps, capacity, active, range, onRange, instant, onInstant, cursor, life } =
    props;
  const theme = useThemeName();
  const [place, width] = useWidth<HTMLDivElement>();
  const [draft] = useState<Cell<TimeRange | null>>(() => cell<TimeRange | null>(null));
  const press = useRef<Press | null>(null);
  const anchor = useRef<number | null>(null);
  const extent = useMemo(() => extentOf(curve, capacity), [curve, capacity]);
  const frame = useMemo(() => frameOf(curve, extent, width, CURVE_HEIGHT), [curve, extent, width]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme changes the tokens
  const paint = useCallback(
    (context: CanvasRenderingContext2D, wide: number, height: number) =>
      paintCurve(
        context,
        wide,
        {
          curve,
          steps,
          active,
          frame: frameOf(curve, extent, wide, height),
          capacity: extent.hasCapacity ? capacity : null,
        },
        documentTokens,
      ),
    [curve, steps, active, capacity, extent, theme],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme changes the tokens
  const paintAbove = useCallback(
    (context: CanvasRenderingContext2D, wide: number, height: number) =>
      paintOverlay(
        context,
        {
          curve,
          frame: frameOf(curve, extent, wide, height),
          range: draft.get() ?? range,
          cursor: cursor.get(),
          instant,
          life: life.get(),
          totalAt: (ts) => curve.allocated[pointAt(curve.ts, ts)] ?? 0,
        },
        documentTokens,
      ),
    [curve, extent, range, instant, draft, cursor, life, theme],
  );

  const whole = { start: frame.start, end: frame.end };
  const xAt = (event: PointerEvent) =>
    event.clientX - (place.current?.getBoundingClientRect().left ?? 0);
  const gripAt = (x: number): number | null => {
    if (range === null) {
      return null;
    }
    const near = (ts: number) => Math.abs(xOf(frame, ts) - x) <= GRIP_PX;
    return near(range.start) ? range.end : near(range.end) ? range.start : null;
  };
  const onPointerDown = (event: PointerEvent) => {
    if (event.button !== 0) {
      return;
    }
    const x = xAt(event);
    const other = gripAt(x);
    press.current = { fixed: other ?? instantAt(frame, x), x, isGrip: other !== null };
    event.currentTarget.setPointerCapture(event.pointerId);
  };
  const onPointerMove = (event: PointerEvent) => {
    const x = xAt(event);
    cursor.set(instantAt(frame, x));
    const { current } = press;
    if (current !== null && (draft.get() !== null || Math.abs(x - current.x) > CLICK_PX)) {
      draft.set(rangeBetween(whole, current.fixed, instantAt(frame, x)));
    }
  };
  const onPointerUp = (event: PointerEvent) => {
    const { current } = press;
    const drawn = draft.get();
    press.current = null;
    draft.set(null);
    if (drawn !== null) {
      onRange(drawn);
    } else if (current !== null && !current.isGrip) {
      onInstant(instantAt(frame, xAt(event)));
    }
  };
  const cancel = () => {
    press.current = null;
    draft.set(null);
  };
  /** Moves by a share of what is shown; with Shift, the range goes along. */
  const move = (share: number, isChoosing: boolean) => {
    const at = cursor.get() ?? curve.peak_ns;
    const to = movedInstant(whole, at, share);
    cursor.set(to);
    anchor.current = isChoosing ? (anchor.current ?? at) : null;
    if (anchor.current !== null) {
      onRange(rangeBetween(whole, anchor.current, to));
    }
  };
  /** Out of what is being dragged, or chosen; whether there was something to leave. */
  const leave = (): boolean => {
    const hadRange = (draft.get() ?? range) !== null;
    cancel();
    anchor.current = null;
    if (hadRange) {
      onRange(null);
    }
    return hadRange;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const share = MOVES[event.key];
    if (event.altKey) {
      return;
    }
    if (share !== undefined) {
      const isFar = event.ctrlKey || event.metaKey;
      move(isFar ? share * FAR : share, event.shiftKey);
    } else if (event.key === "Enter") {
      onInstant(cursor.get() ?? curve.peak_ns);
    } else if (event.key !== "Escape" || !leave()) {
      return;
    }
    event.preventDefault();
  };
  return (
    <div
      ref={place}
      className="mem-curve"
      role="application"
      aria-label={spokenCurve(curve)}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it takes keys
      tabIndex={0}
      onKeyDown={onKeyDown}
      onPointerDown={onPointerDown}
      onPointerMove={onPointerMove}
      onPointerUp={onPointerUp}
      onPointerCancel={cancel}
      onPointerLeave={() => cursor.set(null)}
      onBlur={() => cursor.set(null)}
      onContextMenu={(event) => {
        if (range !== null) {
          event.preventDefault();
          onRange(null);
        }
      }}
    >
      <LiveCanvas aria-hidden="true" cells={[]} paint={paint} />
      <LiveCanvas aria-hidden="true" cells={[draft, cursor, life]} paint={paintAbove} />
    </div>
  );
}
