/** The roofline: both axes logarithmic, a point for each row, its area the time. */
import { useState } from "react";
import type { SpeedPoint, SpeedRoofline } from "../../api/types.gen";
import { useWidth } from "../../base/measure";
import { DASH, fixed, NBSP, notZero, share, time } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";

const HEIGHT = 320;
const TOP = 18;
const BOTTOM = 34;
const LEFT = 48;
const RIGHT = 12;
/** The strip of rows without FLOPs. */
const STRIP = 76;
const MOST_RADIUS = 15;
const LEAST_RADIUS = 3;
const LONGEST = 80;
/** Between the strip and the chart: the numbers of its axis. */
const GAP = 44;

/** A logarithmic axis that holds all of its values. */
export interface LogAxis {
  /** Value at its begin. */
  readonly low: number;
  /** Pixels at its begin. */
  readonly from: number;
  readonly ticks: readonly number[];
  readonly at: (value: number) => number;
}

const MOST_TICKS = 7;

export function axis(values: readonly number[], from: number, to: number): LogAxis {
  const known = values.filter((value) => value > 0);
  const least = Math.floor(Math.log10(Math.min(...(known.length > 0 ? known : [1]))));
  const top = Math.log10(Math.max(...(known.length > 0 ? known : [1]))) + 0.08;
  const most = Math.max(top, least + 1);
  const every = Math.ceil((most - least + 1) / MOST_TICKS);
  const ticks: number[] = [];
  for (let power = least; power <= most; power += every) {
    ticks.push(10 ** power);
  }
  return {
    low: 10 ** least,
    from,
    ticks,
    at: (value) => {
      const power = value > 0 ? Math.log10(value) : least;
      return from + ((Math.max(power, least) - least) / (most - least)) * (to - from);
    },
  };
}

interface Placed {
  readonly point: SpeedPoint;
  readonly x: number;
  readonly y: number;
  readonly r: number;
}

interface Scales {
  readonly x: LogAxis;
  readonly y: LogAxis;
  readonly strip: LogAxis;
}

export function scalesOf({ bandwidth_gb_s, roofs, points }: SpeedRoofline, width: number): Scales {
  const known = points.filter(({ intensity }) => intensity !== null);
  const ridges = roofs.map(({ tflop_s }) => (tflop_s * 1e3) / bandwidth_gb_s);
  const xs = [...known.map(({ intensity }) => intensity ?? 1), ...ridges];
  const ys = [...known.map(({ tflop_s }) => tflop_s), ...roofs.map(({ tflop_s }) => tflop_s)];
  const rates = points
    .filter(({ intensity }) => intensity === null)
    .map(({ gb_s }) => gb_s)
    .filter((rate) => rate > 0);
  const low = TOP;
  const high = HEIGHT - BOTTOM;
  return {
    x: axis(xs, LEFT + STRIP + GAP, Math.max(width - RIGHT, LEFT + STRIP + GAP + 32)),
    y: axis(ys, high, low),
    strip: axis([...rates, bandwidth_gb_s], high, low),
  };
}

/** Where each point is drawn, the largest first, so that small ones stay in sight. */
export function placed(roofline: SpeedRoofline, scales: Scales): readonly Placed[] {
  const most = Math.max(1, ...roofline.points.map(({ ns }) => ns));
  return [...roofline.points]
    .sort((a, b) => b.ns - a.ns)
    .map((point, place) => ({
      point,
      x:
        point.intensity === null
          ? LEFT + 14 + ((place * 17) % (STRIP - 28))
          : scales.x.at(point.intensity),
      y: point.intensity === null ? scales.strip.at(point.gb_s) : scales.y.at(point.tflop_s),
      r: Math.max(LEAST_RADIUS, MOST_RADIUS * Math.sqrt(point.ns / most)),
    }));
}

/** A power of ten. */
const tickWords = (tick: number) => fixed(tick, Math.max(0, -Math.round(Math.log10(tick))));

const rate = (value: number, unit: string) =>
  `${notZero(value, value < 99.5 ? 1 : 0)}${NBSP}${unit}`;

/** Of a CPU a tera would be 0.1 and less. */
const flopRate = (tflop_s: number) =>
  tflop_s < 1 ? rate(tflop_s * 1e3, "GFLOP/s") : rate(tflop_s, "TFLOP/s");

function wordsOf({ name, ns, intensity, tflop_s, gb_s, light_ratio, unit }: SpeedPoint): string {
  const speed =
    intensity === null
      ? rate(gb_s, "GB/s")
      : `${flopRate(tflop_s)}${unit === "" ? "" : ` in ${unit}`} at ${rate(intensity, "FLOP/B")}`;
  return `${harmless(name, LONGEST)}: ${speed}, ${share(light_ratio)} of light, ${time(ns)}`;
}

/** Characters of a roof's name to its width, at most. */
const CHAR = 6.6;
/** Between the lines of two names. */
const LINE = 13;

interface RoofName {
  readonly x: number;
  readonly y: number;
  readonly isBeside: boolean;
}

/**
 * Where the names of roofs stand, the highest roof first: left of their ridges, where no point can
 * be; above the line where there is no room.
 */
export function roofNames(
  ridges: readonly { readonly x: number; readonly y: number; readonly length: number }[],
  from: number,
  right: number,
): readonly RoofName[] {
  const found: RoofName[] = [];
  let below = Number.POSITIVE_INFINITY;
  for (const { x, y, length } of [...ridges].reverse()) {
    const isBeside = x - 8 - length * CHAR > from;
    const wanted = y - (isBeside ? 3 : 5);
    below = Math.max(Math.min(wanted, below - LINE), 10);
    found.unshift({ x: isBeside ? x - 8 : right, y: below, isBeside });
  }
  return found;
}

function Roofs({
  roofline,
  scales,
  right,
}: {
  roofline: SpeedRoofline;
  scales: Scales;
  right: number;
}) {
  const { bandwidth_gb_s, roofs } = roofline;
  const { x, y } = scales;
  const top = Math.max(...roofs.map(({ tflop_s }) => tflop_s));
  const ridge = (tflop_s: number) => (tflop_s * 1e3) / bandwidth_gb_s;
  // The slope begins where it leaves the bottom of the chart, or at its left edge.
  const start = Math.max(x.low, ridge(y.low));
  const named = roofs.map(({ name, tflop_s }) => ({
    x: x.at(ridge(tflop_s)),
    y: y.at(tflop_s),
    words: `${name} ${flopRate(tflop_s)}, ridge ${rate(ridge(tflop_s), "FLOP/B")}`,
  }));
  const places = roofNames(
    named.map((one) => ({ ...one, length: one.words.length })),
    x.from,
    right,
  );
  return (
    <g className="roofs">
      <line
        x1={x.at(start)}
        y1={y.at((start * bandwidth_gb_s) / 1e3)}
        x2={x.at(ridge(top))}
        y2={y.at(top)}
      />
      {named.map((one, place) => (
        <g key={one.words}>
          <line x1={one.x} y1={one.y} x2={right} y2={one.y} />
          <circle cx={one.x} cy={one.y} r={2.5} />
          <text x={places[place]?.x} y={places[place]?.y} textAnchor="end">
            {one.words}
          </text>
        </g>
      ))}
    </g>
  );
}

function Axes({
  scales,
  right,
  hasProducts,
}: {
  scales: Scales;
  right: number;
  hasProducts: boolean;
}) {
  const { x, y, strip } = scales;
  const bottom = HEIGHT - BOTTOM;
  return (
    <g className="axes">
      <rect x={LEFT} y={TOP} width={STRIP} height={bottom - TOP} />
      {strip.ticks.map((tick) => (
        <text key={tick} x={LEFT - 6} y={strip.at(tick) + 4} textAnchor="end">
          {tickWords(tick)}
        </text>
      ))}
      <text x={2} y={11}>
        GB/s
      </text>
      <text x={LEFT + STRIP / 2} y={bottom + 16} textAnchor="middle">
        no FLOPs
      </text>
      {hasProducts ? (
        <>
          {y.ticks.map((tick) => (
            <g key={tick}>
              <line x1={x.from} x2={right} y1={y.at(tick)} y2={y.at(tick)} />
              <text x={x.from - 4} y={y.at(tick) + 4} textAnchor="end">
                {tickWords(tick)}
              </text>
            </g>
          ))}
          {x.ticks.map((tick) => (
            <g key={tick}>
              <line x1={x.at(tick)} x2={x.at(tick)} y1={TOP} y2={bottom} />
              <text x={Math.min(x.at(tick), right - 6)} y={bottom + 18} textAnchor="middle">
                {tickWords(tick)}
              </text>
            </g>
          ))}
          <text x={LEFT + STRIP + 6} y={11}>
            TFLOP/s
          </text>
          <text x={right} y={HEIGHT - 4} textAnchor="end">
            FLOP/B
          </text>
        </>
      ) : null}
    </g>
  );
}

interface RooflineProps {
  readonly roofline: SpeedRoofline;
  readonly picked: string | null;
  readonly onPick: (name: string) => void;
}

export function Roofline({ roofline, picked, onPick }: RooflineProps) {
  const [frame, width] = useWidth<HTMLDivElement>();
  const [shown, setShown] = useState<SpeedPoint | null>(null);
  const scales = scalesOf(roofline, width);
  const right = width - RIGHT;
  const bandwidth = scales.strip.at(roofline.bandwidth_gb_s);
  const hasProducts = roofline.roofs.length > 0;
  return (
    <div className="roofline" ref={frame}>
      {width > 0 ? (
        <>
          <svg width={width} height={HEIGHT} aria-hidden="true">
            <Axes scales={scales} right={right} hasProducts={hasProducts} />
            <g className="roofs">
              <line x1={LEFT} x2={LEFT + STRIP} y1={bandwidth} y2={bandwidth} />
            </g>
            {hasProducts ? <Roofs roofline={roofline} scales={scales} right={right} /> : null}
          </svg>
          {placed(roofline, scales).map(({ point, x, y, r }) => (
            <button
              key={point.name}
              type="button"
              aria-label={wordsOf(point)}
              aria-pressed={picked === point.name}
              aria-disabled={point.is_rest}
              className={point.is_rest ? "point rest" : "point"}
              style={{ left: x - r, top: y - r, width: 2 * r, height: 2 * r }}
              onMouseEnter={() => setShown(point)}
              onMouseLeave={() => setShown(null)}
              onFocus={() => setShown(point)}
              onBlur={() => setShown(null)}
              onClick={() => (point.is_rest ? undefined : onPick(point.name))}
            />
          ))}
        </>
      ) : (
        <div style={{ height: HEIGHT }} />
      )}
      <p className="hint">
        {shown === null
          ? `The area of a point is its time. The line at the left is the bandwidth of the memory, ${rate(roofline.bandwidth_gb_s, "GB/s")}. Press a point to see its row.`
          : wordsOf(shown) || DASH}
      </p>
    </div>
  );
}
