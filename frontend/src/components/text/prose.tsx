/** Sentences from the server: text, with code between backticks. Never markup. */
import type { ReactNode } from "react";

/** Longer code may be broken at the end of a line: no panel is narrower than this. */
const WHOLE_MAX = 40;

/** Such text as a paragraph; nothing where there is none. */
export const Paragraph = ({ text, className }: { text: string; className?: string }) =>
  text === "" ? null : (
    <p className={className}>
      <Prose text={text} />
    </p>
  );

/** A run of text, every second of which is code. */
export function Prose({ text }: { text: string }): ReactNode {
  const pieces = text.split("`");
  // An odd backtick at the end opens nothing.
  if (pieces.length % 2 === 0) {
    const last = pieces.pop();
    pieces.push(`${pieces.pop()}\`${last}`);
  }
  return pieces.map((piece, place) =>
    place % 2 === 1 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of a sentence have no other name
      <code key={place} className={piece.length > WHOLE_MAX ? undefined : "whole"}>
        {piece}
      </code>
    ) : (
      piece
    ),
  );
}
