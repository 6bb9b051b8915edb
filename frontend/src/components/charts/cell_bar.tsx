/** A number upon a bar that begins at the left edge and is as long as its share of the largest. */
import type { ReactNode } from "react";
import { fillClass } from "./category";

interface CellBarProps {
  readonly value: number;
  readonly most: number;
  readonly category?: string;
  /** Instead of a category. */
  readonly color?: string | undefined;
  readonly children: ReactNode;
}

export function CellBar({ value, most, category, color, children }: CellBarProps) {
  const share = most > 0 ? Math.max(0, Math.min(1, value / most)) : 0;
  return (
    <span className="cell-bar">
      <i
        className={category === undefined ? undefined : fillClass(category, false)}
        style={{ width: `${share * 100}%`, ...(color === undefined ? {} : { background: color }) }}
        aria-hidden="true"
      />
      <span>{children}</span>
    </span>
  );
}
