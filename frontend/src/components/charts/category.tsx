/** The fill of a category, as a class name and as a small square. */
import { categoryStem } from "../../base/style/theme";

export function fillClass(category: string, ghost: boolean): string {
  if (category === "overlap") {
    return "k overlap";
  }
  return `k ${categoryStem(category)}${ghost ? " ghost" : ""}`;
}

export function Swatch({ category, ghost = false }: { category: string; ghost?: boolean }) {
  return <i className={`swatch ${fillClass(category, ghost)}`} aria-hidden="true" />;
}
