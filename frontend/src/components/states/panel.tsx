/** A titled box. Its header holds the title, a hint and, at the right, controls. */
import { createContext, type ReactNode, useContext, useId, useState } from "react";
import { createPortal } from "react-dom";
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

/** Where the panel around shows its controls; null outside of a panel. */
const Controls = createContext<HTMLElement | null>(null);

/** Puts controls of a part of a panel into the panel's header; outside of a panel they stand in place. */
export function PanelTools({ children }: { readonly children: ReactNode }) {
  const place = useContext(Controls);
  return place === null ? children : createPortal(children, place);
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
  const [place, setPlace] = useState<HTMLElement | null>(null);
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
        <div ref={setPlace} className="panel-controls">
          {controls}
        </div>
      </header>
      <Controls value={place}>
        <Boundary>{hasBody ? <div className="body">{children}</div> : children}</Boundary>
      </Controls>
    </section>
  );
}
