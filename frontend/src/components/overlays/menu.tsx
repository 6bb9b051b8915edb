/** A button that opens a menu. Arrows walk its entries; choosing one closes it. */
import {
  createContext,
  type KeyboardEvent,
  type ReactNode,
  useContext,
  useEffect,
  useRef,
} from "react";
import { walked } from "../../base/walk";
import { CheckIcon } from "../text/icons";
import { Popover, type PopoverProps } from "./popover";

const CloseMenu = createContext(() => {});

interface EntriesProps {
  readonly label: string | undefined;
  readonly children: ReactNode;
}

function Entries({ label, children }: EntriesProps) {
  const list = useRef<HTMLDivElement>(null);
  const entries = () => [
    ...(list.current?.querySelectorAll<HTMLElement>("[role^=menuitem]:not([disabled])") ?? []),
  ];
  // biome-ignore lint/correctness/useExhaustiveDependencies: when it opens, and never again
  useEffect(() => (entries()[0] ?? list.current)?.focus(), []);
  const onKeyDown = (event: KeyboardEvent) => {
    const all = entries();
    const at = all.indexOf(document.activeElement as HTMLElement);
    const to = walked(event.key, at, all.length, ["ArrowUp", "ArrowDown"]);
    if (to !== null) {
      event.preventDefault();
      all[to]?.focus();
    }
  };
  return (
    <div ref={list} role="menu" aria-label={label} tabIndex={-1} onKeyDown={onKeyDown}>
      {children}
    </div>
  );
}

interface MenuProps extends Omit<PopoverProps, "children" | "kind"> {
  readonly children: ReactNode;
}

export function Menu({ children, ...popover }: MenuProps) {
  return (
    <Popover {...popover} kind="menu">
      {(close) => (
        <CloseMenu value={close}>
          <Entries label={popover.label}>{children}</Entries>
        </CloseMenu>
      )}
    </Popover>
  );
}

interface MenuItemProps {
  readonly words: ReactNode;
  readonly hint?: ReactNode;
  /** Of a choice of one among several: whether it is the one. */
  readonly isOn?: boolean;
  readonly isDisabled?: boolean;
  readonly run: () => void;
}

export function MenuItem({ words, hint = "", isOn, isDisabled = false, run }: MenuItemProps) {
  const close = useContext(CloseMenu);
  return (
    <button
      type="button"
      {...(isOn === undefined
        ? { role: "menuitem" }
        : { role: "menuitemradio", "aria-checked": isOn })}
      className="option"
      disabled={isDisabled}
      onClick={() => {
        close();
        run();
      }}
    >
      {isOn === undefined ? null : <span className="tick">{isOn ? <CheckIcon /> : null}</span>}
      <span className="grow clip">{words}</span>
      <span className="hint nowrap">{hint}</span>
    </button>
  );
}
