/** A small square in the hue of a kind. */
export function KindSwatch({ fill }: { fill: string | undefined }) {
  return <i className="swatch" style={{ background: fill }} aria-hidden="true" />;
}
