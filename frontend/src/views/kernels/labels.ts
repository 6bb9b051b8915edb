/** Which dots of a scatter get their name, and on which side: none over another, none cut. */

export interface Dot {
  readonly x: number;
  readonly y: number;
  readonly radius: number;
  readonly text: string;
}

export type Side = "right" | "left" | "top" | "bottom";

export interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

const GAP = 5; // between a dot and its label, as ECharts draws it
const LINE = 14;
const SIDES: readonly Side[] = ["right", "left", "top", "bottom"];
/** A label may touch the rim of a dot that is drawn see-through. */
const CORE = 0.75;

export const meet = (a: Box, b: Box): boolean =>
  a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

const inside = (a: Box, b: Box): boolean =>
  a.left >= b.left && a.right <= b.right && a.top >= b.top && a.bottom <= b.bottom;

/** Where a label stands on a side of its dot. */
export function labelBox(dot: Dot, side: Side, width: number): Box {
  const away = dot.radius + GAP;
  const left =
    side === "right" ? dot.x + away : side === "left" ? dot.x - away - width : dot.x - width / 2;
  const top =
    side === "top" ? dot.y - away - LINE : side === "bottom" ? dot.y + away : dot.y - LINE / 2;
  return { left, top, right: left + width, bottom: top + LINE };
}

const core = ({ x, y, radius }: Dot): Box => ({
  left: x - radius * CORE,
  top: y - radius * CORE,
  right: x + radius * CORE,
  bottom: y + radius * CORE,
});

/** The side of each dot's label, null where there is no room; the first dots choose first. */
export function placeLabels(
  dots: readonly Dot[],
  area: Box,
  taken: readonly Box[],
  widthOf: (text: string) => number,
): readonly (Side | null)[] {
  const labels = [...taken];
  const cores = dots.map(core);
  return dots.map((dot, own) => {
    if (dot.text === "") {
      return null;
    }
    const width = widthOf(dot.text);
    const side = SIDES.find((one) => {
      const box = labelBox(dot, one, width);
      return (
        inside(box, area) &&
        !labels.some((other) => meet(box, other)) &&
        !cores.some((other, at) => at !== own && meet(box, other))
      );
    });
    if (side === undefined) {
      return null;
    }
    labels.push(labelBox(dot, side, width));
    return side;
  });
}

/** The ends of a logarithmic axis in decades: a little beyond what is drawn, never less than one. */
export function decadesOf(values: readonly number[]): readonly [number, number] {
  const decades = values.map(Math.log10);
  const low = Math.min(...decades, Number.POSITIVE_INFINITY);
  const high = Math.max(...decades, Number.NEGATIVE_INFINITY);
  if (low > high) {
    return [-1, 1];
  }
  const spare = Math.max((high - low) * 0.08, (1 - (high - low)) / 2, 0.08);
  return [low - spare, high + spare];
}

/** Decades to name on such an axis: 1, 2, 5 of each while they are few, then whole ones. */
export function decadeTicks(low: number, high: number, most = 7): readonly number[] {
  const digits = high - low > 2.2 ? [1] : [1, 2, 5];
  const ticks: number[] = [];
  for (let decade = Math.floor(low); decade <= high; decade += 1) {
    for (const digit of digits) {
      const at = decade + Math.log10(digit);
      if (at >= low && at <= high) {
        ticks.push(at);
      }
    }
  }
  const every = Math.ceil(ticks.length / most);
  return ticks.filter((_, place) => place % every === 0);
}
