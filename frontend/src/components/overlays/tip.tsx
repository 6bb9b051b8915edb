/** An explanation that opens on hover and on focus, and closes with Esc. */
import { type KeyboardEvent, type ReactNode, useId, useRef, useState } from "react";
import { useFloating } from "../floating";

interface TipProps {
  readonly text: ReactNode;
  readonly children: ReactNode;
  /** `word`: dotted underline, for terms that are explained. */
  readonly className?: string;
  /** What pressing it does: then it is a button. */
  readonly onPress?: () => void;
}

export function Tip({ text, children, className = "word", onPress }: TipProps) {
  const id = useId();
  const [open, setOpen] = useState(false);
  const word = useRef<HTMLElement>(null);
  const body = useRef<HTMLSpanElement>(null);
  useFloating(open, word, body, "above");
  const isButton = onPress !== undefined;
  if (text === "" && !isButton) {
    return children;
  }
  const anchor = {
    className: `tip ${className}`.trim(),
    "aria-describedby": open ? id : undefined,
    onMouseEnter: () => setOpen(true),
    onMouseLeave: () => setOpen(false),
    onFocus: () => setOpen(true),
    onBlur: () => setOpen(false),
    onKeyDown: (event: KeyboardEvent) => {
      if (open && event.key === "Escape") {
        event.preventDefault();
        setOpen(false);
      }
    },
  };
  return (
    <>
      {isButton ? (
        <button
          type="button"
          ref={(element) => {
            word.current = element;
          }}
          onClick={onPress}
          {...anchor}
        >
          {children}
        </button>
      ) : (
        <span
          ref={word}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: the explanation must be reachable by keyboard
          tabIndex={0}
          {...anchor}
        >
          {children}
        </span>
      )}
      {open && text !== "" ? (
        // Beside the word, not in it: it is no part of the name of a button.
        <span ref={body} role="tooltip" id={id} className="tip-body" popover="manual">
          {text}
        </span>
      ) : null}
    </>
  );
}
