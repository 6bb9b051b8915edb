/** A dialog over the page. Esc and a press beside it close it; focus returns where it was. */
import { type ReactNode, useLayoutEffect, useRef } from "react";
import { IconButton } from "../controls/icon_button";
import { CloseIcon } from "../text/icons";

interface ModalProps {
  readonly title: string;
  readonly width: number;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

export function Modal({ title, width, onClose, children }: ModalProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  // Before the effects of what is inside: opening moves the focus, and they may move it on.
  useLayoutEffect(() => {
    const element = dialog.current;
    const before = document.activeElement;
    element?.showModal();
    return () => {
      element?.close();
      if (before instanceof HTMLElement) {
        before.focus();
      }
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-label={title}
      style={{ width }}
      onKeyDown={(event) => {
        // By itself the dialog would close too, but Safari keeps Esc in a search field for itself.
        if (event.key === "Escape" && !event.defaultPrevented && !event.nativeEvent.isComposing) {
          event.preventDefault();
          onClose();
        }
      }}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === dialog.current) {
          onClose();
        }
      }}
    >
      <header>
        <h2>{title}</h2>
        <span className="grow" />
        <IconButton label="Close" onClick={onClose}>
          <CloseIcon />
        </IconButton>
      </header>
      <div className="body">{children}</div>
    </dialog>
  );
}
