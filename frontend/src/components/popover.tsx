/** A button, and what it opens beneath itself. */
import {
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from "react";

const MARGIN = 8;

/** Keeps the menu beneath its button, or above it where there is more room, and inside the frame. */
function place(button: HTMLElement, menu: HTMLElement): void {
  const at = button.getBoundingClientRect();
  const left = Math.min(at.left, window.innerWidth - menu.offsetWidth - MARGIN);
  const below = window.innerHeight - at.bottom - MARGIN - 4;
  const above = at.top - MARGIN - 4;
  const isAbove = menu.offsetHeight > below && above > below;
  const height = Math.max(160, isAbove ? above : below);
  menu.style.left = `${Math.max(MARGIN, left)}px`;
  menu.style.maxHeight = `${height}px`;
  const top = isAbove ? at.top - 4 - Math.min(menu.offsetHeight, height) : at.bottom + 4;
  menu.style.top = `${Math.max(MARGIN, top)}px`;
}

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

interface PopoverProps {
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
  useLayoutEffect(() => {
    if (open && trigger.current !== null && menu.current !== null) {
      place(trigger.current, menu.current);
    }
  }, [open]);
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
        <div className="menu" ref={menu}>
          {children(close)}
        </div>
      ) : null}
    </span>
  );
}
