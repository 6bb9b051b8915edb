/** A button, and what it opens beneath itself. */
import { type ReactNode, type RefObject, useCallback, useEffect, useRef, useState } from "react";
import { useFloating } from "../floating";

function useDismiss(open: boolean, root: RefObject<HTMLElement | null>, close: () => void): void {
  useEffect(() => {
    if (!open) {
      return;
    }
    const onPointer = (event: PointerEvent) => {
      if (!(event.target instanceof Node && root.current?.contains(event.target))) {
        close();
      }
    };
    window.addEventListener("pointerdown", onPointer, true);
    window.addEventListener("resize", close);
    window.addEventListener("blur", close);
    return () => {
      window.removeEventListener("pointerdown", onPointer, true);
      window.removeEventListener("resize", close);
      window.removeEventListener("blur", close);
    };
  }, [open, root, close]);
}

export interface PopoverProps {
  readonly button: ReactNode;
  /** Its name, where the text on the button does not say it. */
  readonly label?: string;
  readonly className: string;
  readonly kind?: "listbox" | "menu" | "dialog";
  /** −1 where arrows lead to it, not Tab. */
  readonly tabIndex?: number;
  /** Names the row it belongs to, as `data-row`. */
  readonly row?: string;
  readonly children: (close: () => void) => ReactNode;
}

export function Popover(props: PopoverProps) {
  const { button, label, className, kind = "listbox", tabIndex, row, children } = props;
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLSpanElement>(null);
  const trigger = useRef<HTMLButtonElement>(null);
  const menu = useRef<HTMLDivElement>(null);
  const dismiss = useCallback(() => setOpen(false), []);
  const close = useCallback(() => {
    setOpen(false);
    trigger.current?.focus();
  }, []);
  useDismiss(open, root, dismiss);
  useFloating(open, trigger, menu);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Esc inside closes; the controls are within
    <span
      className="anchor"
      ref={root}
      onKeyDown={(event) => {
        if (open && event.key === "Escape") {
          event.preventDefault();
          close();
        }
      }}
    >
      <button
        type="button"
        ref={trigger}
        className={`${className} ${open ? "open" : ""}`}
        aria-haspopup={kind}
        aria-expanded={open}
        aria-label={label}
        tabIndex={tabIndex}
        data-row={row}
        onClick={() => setOpen(!open)}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown" && !open) {
            event.preventDefault();
            setOpen(true);
          }
        }}
      >
        {button}
      </button>
      {open ? (
        <div className="menu" ref={menu} popover="manual">
          {children(close)}
        </div>
      ) : null}
    </span>
  );
}
