/** A button that copies text and says so for a moment. */
import { type ReactNode, useEffect, useState } from "react";
import { copyText } from "../../base/clipboard";

export type CopyState = "idle" | "done" | "refused";

/** Copies, and tells for two seconds whether it worked. */
export function useCopy(): [CopyState, (text: string) => void] {
  const [state, setState] = useState<CopyState>("idle");
  useEffect(() => {
    if (state === "idle") {
      return;
    }
    const timer = setTimeout(() => setState("idle"), 2000);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = (text: string) => {
    copyText(text).then((done) => setState(done ? "done" : "refused"));
  };
  return [state, copy];
}

const WORDS: Readonly<Record<CopyState, string | null>> = {
  idle: null,
  done: "Copied",
  refused: "Copying is not allowed here",
};

interface CopyButtonProps {
  /** Asked for when pressed. */
  readonly text: () => string;
  readonly children?: ReactNode;
  readonly className?: string;
  readonly title?: string;
}

export function CopyButton({ text, children = "Copy", className = "", title }: CopyButtonProps) {
  const [state, copy] = useCopy();
  return (
    <button type="button" className={`btn ${className}`} title={title} onClick={() => copy(text())}>
      <span aria-live="polite">{WORDS[state] ?? children}</span>
    </button>
  );
}
