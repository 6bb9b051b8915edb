/** A quiet button that shows a sign only: its name is on hover, with the key that does the same. */
import type { ReactNode } from "react";

interface IconButtonProps {
  readonly label: string;
  readonly keys?: string;
  readonly className?: string;
  readonly onClick: () => void;
  readonly children: ReactNode;
}

export function IconButton({ label, keys, className = "", onClick, children }: IconButtonProps) {
  return (
    <button
      type="button"
      className={`btn quiet icon ${className}`}
      aria-label={label}
      title={keys === undefined ? label : `${label} (${keys})`}
      onClick={onClick}
    >
      {children}
    </button>
  );
}
