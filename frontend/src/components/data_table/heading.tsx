/**
 * The heading of a column, in every table: what it means opens on hover, on focus and on a tap.
 *
 *     <tr>
 *       <Heading help="What was called.">Name</Heading>
 *       <Heading help="How often." className="num">Calls</Heading>
 *     </tr>
 */
import type { ReactNode } from "react";
import { useWords } from "../../state/page_context";
import { Tip } from "../overlays/tip";

interface HeadingProps {
  /** What the figures below it mean. */
  readonly help: ReactNode;
  readonly children: ReactNode;
  readonly className?: string;
  /** Whether the table is sorted by it, and how; null: not by it. */
  readonly order?: "ascending" | "descending" | null;
  /** Sorts the table by it. */
  readonly onSort?: () => void;
}

export function Heading({ help, children, className, order = null, onSort }: HeadingProps) {
  const words = useWords();
  const said = (text: ReactNode) => (typeof text === "string" ? words(text) : text);
  return (
    <th className={className} aria-sort={order ?? undefined}>
      <Tip text={said(help)} className="" {...(onSort === undefined ? {} : { onPress: onSort })}>
        {said(children)}
      </Tip>
    </th>
  );
}
