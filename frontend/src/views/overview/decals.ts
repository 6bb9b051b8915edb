/** The stripes, dots and hatches over fills, as ECharts draws them. */
import type { Fill } from "../../base/style/theme";

interface Decal {
  readonly symbol: string;
  readonly symbolSize?: number;
  readonly rotation?: number;
  readonly dashArrayX: (number | number[])[];
  readonly dashArrayY: number[];
}

const PATTERNS: Readonly<Record<Exclude<Fill["pattern"], "solid">, Decal>> = {
  stripes: { symbol: "rect", rotation: -Math.PI / 4, dashArrayX: [1, 0], dashArrayY: [3, 4] },
  hatch: { symbol: "rect", rotation: Math.PI / 4, dashArrayX: [1, 0], dashArrayY: [1, 4] },
  dots: {
    symbol: "circle",
    symbolSize: 0.35,
    dashArrayX: [
      [6, 0],
      [0, 6],
    ],
    dashArrayY: [6, 0],
  },
};

/** To be spread into an item style; nothing for a solid fill. */
export function decalOf({ pattern, mark }: Fill) {
  return pattern === "solid" || mark === null
    ? {}
    : { decal: { ...PATTERNS[pattern], color: mark } };
}
