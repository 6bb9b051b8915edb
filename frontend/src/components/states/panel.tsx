/** A titled box. Its header holds the title, a hint and, at the right, controls. */
import { type ReactNode, useId } from "react";
import { useWords } from "../../state/page_context";
import { useLasting } from "../../state/timing";
import { Boundary } from "./boundary";

interface PanelProps {
  readonly title: string;
  readonly hint?: ReactNode;
  readonly mark?: ReactNode;
  readonly controls?: ReactNode;
  readonly className?: string;
  /** What is shown belongs to an earlier choice, and the new figures are on their way. */
  readonly isOld?: boolean;
  /** Without a body, the children bring their own padding. */
  readonly hasBody?: boolean;
  readonly children: ReactNode;
}

export function Panel({
  title,
  hint,
  mark,
  controls,
  className = "",
  isOld = false,
  hasBody = true,
  children,
}: PanelProps) {
  const id = useId();
  const words = useWords();
  const busy = useLasting(isOld);
  return (
    <section
      className={`panel ${busy ? "busy" : ""} ${className}`}
      aria-labelledby={id}
      aria-busy={isOld}
    >
      <header>
        <h2 id={id}>{words(title)}</h2>
        {mark}
        {hint === undefined ? null : (
          <span className="hint">{typeof hint === "string" ? words(hint) : hint}</span>
        )}
        {controls === undefined ? null : <div className="panel-controls">{controls}</div>}
      </header>
      <Boundary>{hasBody ? <div className="body">{children}</div> : children}</Boundary>
    </section>
  );
}
