/**
 * The pieces of the step one after the other: bars of both with what has come together so far, and below
 * the difference of each with the difference so far.
 */
import type { Piece } from "../../api/types.gen";
import { useWidth } from "../../base/measure";
import { axisNumber, change, time, timeScale } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { roundTicks } from "../../base/text/ticks";

const TOP = 132;
const BOTTOM = 96;
const AXIS = 38;
const LEAST = 34;

/** What a piece takes in A and in B, and all pieces up to it. */
export interface Sum {
  readonly piece: Piece;
  readonly base: number;
  readonly other: number;
  readonly baseSum: number;
  readonly otherSum: number;
}

export function sums(
  pieces: readonly Piece[],
  of: (piece: Piece) => readonly [number, number],
): readonly Sum[] {
  let [baseSum, otherSum] = [0, 0];
  return pieces.map((piece) => {
    const [base, other] = of(piece);
    baseSum += base;
    otherSum += other;
    return { piece, base, other, baseSum, otherSum };
  });
}

interface PlotProps {
  readonly low: number;
  readonly high: number;
  readonly height: number;
  readonly width: number;
  readonly children: (y: (ns: number) => number) => React.ReactNode;
}

/** A plot with its axis of times. */
function Plot({ low, high, height, width, children }: PlotProps) {
  const scale = timeScale(Math.max(Math.abs(low), high, 1));
  const room = height - 10;
  const y = (ns: number) => 5 + (1 - (ns - low) / Math.max(high - low, 1)) * room;
  const isApart = (tick: number) => tick === 0 || Math.abs(y(tick * scale.unit.size) - y(0)) > 12;
  const up = roundTicks(Math.max(high, 0) / scale.unit.size, 3);
  const down = roundTicks(Math.max(-low, 0) / scale.unit.size, 2)
    .filter((tick) => tick > 0)
    .map((tick) => -tick);
  return (
    <svg className="diff-plot" width={width} height={height} aria-hidden="true">
      {[...down, ...up].filter(isApart).map((tick) => (
        <g key={tick}>
          <line
            x1={AXIS}
            x2={width}
            y1={y(tick * scale.unit.size)}
            y2={y(tick * scale.unit.size)}
          />
          <text x={AXIS - 5} y={y(tick * scale.unit.size)} dy="0.35em">
            {axisNumber(tick)}
          </text>
        </g>
      ))}
      {children(y)}
    </svg>
  );
}

const line = (points: readonly (readonly [number, number])[]): string =>
  points.map(([x, y], at) => `${at === 0 ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

export function Trend({
  pieces,
  of,
  onEnter,
}: {
  pieces: readonly Piece[];
  of: (piece: Piece) => readonly [number, number];
  onEnter: (path: string) => void;
}) {
  const [box, room] = useWidth<HTMLDivElement>();
  const found = sums(pieces, of);
  const width = Math.max(room, AXIS + found.length * LEAST);
  const slot = (width - AXIS) / Math.max(found.length, 1);
  const bar = Math.min(14, slot * 0.32);
  const middle = (at: number) => AXIS + (at + 0.5) * slot;
  const last = found.at(-1);
  const most = Math.max(last?.baseSum ?? 0, last?.otherSum ?? 0, 1);
  const differences = found.flatMap(({ base, other, baseSum, otherSum }) => [
    other - base,
    otherSum - baseSum,
  ]);
  const unit = timeScale(most).unit.name;
  return (
    <div className="diff-trend" ref={box}>
      <p className="hint">{unit} per step · bars: each piece · lines: all pieces up to it</p>
      <Plot low={0} high={most} height={TOP} width={width}>
        {(y) => (
          <>
            {found.map(({ piece, base, other }, at) => (
              <g key={piece.path}>
                <rect
                  className="a"
                  x={middle(at) - bar}
                  width={bar}
                  y={y(base)}
                  height={y(0) - y(base)}
                />
                <rect
                  className="b"
                  x={middle(at)}
                  width={bar}
                  y={y(other)}
                  height={y(0) - y(other)}
                />
              </g>
            ))}
            <path
              className="a"
              d={line(found.map(({ baseSum }, at) => [middle(at), y(baseSum)]))}
            />
            <path
              className="b"
              d={line(found.map(({ otherSum }, at) => [middle(at), y(otherSum)]))}
            />
          </>
        )}
      </Plot>
      <p className="hint">
        B less A, in {timeScale(Math.max(...differences.map(Math.abs), 1)).unit.name} · line: so far
      </p>
      <Plot
        low={Math.min(0, ...differences)}
        high={Math.max(0, ...differences, 1)}
        height={BOTTOM}
        width={width}
      >
        {(y) => (
          <>
            {found.map(({ piece, base, other }, at) => (
              <rect
                key={piece.path}
                className={other < base ? "better" : "worse"}
                x={middle(at) - bar}
                width={2 * bar}
                y={Math.min(y(0), y(other - base))}
                height={Math.max(1, Math.abs(y(other - base) - y(0)))}
              />
            ))}
            <path
              className="sum"
              d={line(
                found.map(({ baseSum, otherSum }, at) => [middle(at), y(otherSum - baseSum)]),
              )}
            />
          </>
        )}
      </Plot>
      <div className="diff-trend-names" style={{ width, paddingLeft: AXIS }}>
        {found.map(({ piece, base, other, baseSum, otherSum }) => {
          const words = `${harmless(piece.name)}: ${time(base)} → ${time(other)}, ${change(other - base)}; so far ${change(otherSum - baseSum)}`;
          return (
            <button
              key={piece.path}
              type="button"
              className="link clip"
              style={{ width: slot }}
              title={`${words}\n${piece.has_inside ? "Opens the pieces inside" : "Opens its operators"}`}
              onClick={() => onEnter(piece.path)}
            >
              {harmless(piece.name)}
            </button>
          );
        })}
      </div>
    </div>
  );
}
