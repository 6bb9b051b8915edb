/** Sentences from the server: text, with code between backticks. Never markup. */
import type { ReactNode } from "react";

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
      <code key={place}>{piece}</code>
    ) : (
      piece
    ),
  );
}
