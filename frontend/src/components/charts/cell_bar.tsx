/** A number upon a bar that begins at the left edge and is as long as its share of the largest. */
import type { ReactNode } from "react";
import { fillClass } from "./category";

interface CellBarProps {
  readonly value: number;
  readonly most: number;
  readonly category: string;
  readonly children: ReactNode;
}

export function CellBar({ value, most, category, children }: CellBarProps) {
  const width = most > 0 ? Math.max(0, Math.min(1, value / most)) * 100 : 0;
  return (
    <span className="cell-bar">
      <i className={fillClass(category, false)} style={{ width: `${width}%` }} aria-hidden="true" />
      <span>{children}</span>
    </span>
  );
}
