/** Colour arithmetic for canvas charts, which cannot read CSS variables or mix colours. */

export type Rgb = readonly [number, number, number];

/** `#3c5fc0` or `#fff` → channels of 0–255; anything else is black. */
export function parseHex(text: string): Rgb {
  const hex = text.trim().replace(/^#/, "");
  const long = hex.length === 3 ? [...hex].map((digit) => digit + digit).join("") : hex;
  const value = /^[0-9a-f]{6}$/i.test(long) ? Number.parseInt(long, 16) : 0;
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

/** `share` of the first colour over the second. */
export function mix(over: string, under: string, share: number): string {
  const a = parseHex(over);
  const b = parseHex(under);
  const channel = (i: 0 | 1 | 2) => Math.round(a[i] * share + b[i] * (1 - share));
  return `rgb(${channel(0)}, ${channel(1)}, ${channel(2)})`;
}

/** The colour with an opacity. */
export function fade(color: string, opacity: number): string {
  const [r, g, b] = parseHex(color);
  return `rgba(${r}, ${g}, ${b}, ${opacity})`;
}
