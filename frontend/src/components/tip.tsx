/** An explanation that opens on hover and on focus, and closes with Esc. */
import { type ReactNode, useId, useLayoutEffect, useRef, useState } from "react";

const MARGIN = 8;

function place(anchor: HTMLElement, tip: HTMLElement): void {
  const at = anchor.getBoundingClientRect();
  const left = Math.min(at.left, window.innerWidth - tip.offsetWidth - MARGIN);
  const isLow = at.bottom + tip.offsetHeight + MARGIN > window.innerHeight;
  tip.style.left = `${Math.max(MARGIN, left)}px`;
  tip.style.top = `${isLow ? at.top - tip.offsetHeight - 4 : at.bottom + 4}px`;
}

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
  useLayoutEffect(() => {
    if (open && anchor.current !== null && body.current !== null) {
      place(anchor.current, body.current);
    }
  }, [open]);
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
        <span ref={body} role="tooltip" id={id} className="tip-body">
          {text}
        </span>
      ) : null}
    </span>
  );
}
