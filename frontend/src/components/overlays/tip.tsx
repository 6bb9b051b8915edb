/** An explanation that opens on hover and on focus, and closes with Esc. */
import { type ReactNode, useId, useRef, useState } from "react";
import { useFloating } from "../floating";

interface TipProps {
  readonly text: ReactNode;
  readonly children: ReactNode;
  /** `word`: dotted underline, for terms that are explained. */
  readonly className?: string;
}

export function Tip({ text, children, className = "word" }: TipProps) {
  const id = useId();
  const [open, setOpen] = useState(false);
  const anchor = useRef<HTMLSpanElement>(null);
  const body = useRef<HTMLSpanElement>(null);
  useFloating(open, anchor, body);
  if (text === "") {
    return children;
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: hover and focus only show an explanation
    <span
      ref={anchor}
      className={`tip ${className}`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the explanation must be reachable by keyboard
      tabIndex={0}
      aria-describedby={open ? id : undefined}
      onMouseEnter={() => setOpen(true)}
      onMouseLeave={() => setOpen(false)}
      onFocus={() => setOpen(true)}
      onBlur={() => setOpen(false)}
      onKeyDown={(event) => {
        if (open && event.key === "Escape") {
          event.preventDefault();
          setOpen(false);
        }
      }}
    >
      {children}
      {open ? (
        <span ref={body} role="tooltip" id={id} className="tip-body" popover="manual">
          {text}
        </span>
      ) : null}
    </span>
  );
}
