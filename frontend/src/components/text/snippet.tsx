/** Code to paste, with what the reader should add made visible, and a button to copy it. */
import type { SnippetLine } from "../../api/types.gen";
import { CopyButton } from "../controls/copy_button";

/** Splits a line of Python before its trailing comment; a `#` inside a string is none. */
export function splitComment(line: string): [string, string] {
  let quote: string | null = null;
  for (let i = 0; i < line.length; i += 1) {
    const sign = line.charAt(i);
    if (quote !== null) {
      quote = sign === quote ? null : quote;
    } else if (sign === '"' || sign === "'") {
      quote = sign;
    } else if (sign === "#") {
      return [line.slice(0, i), line.slice(i)];
    }
  }
  return [line, ""];
}

function Line({ line }: { line: SnippetLine }) {
  const [code, comment] = splitComment(line.text);
  return (
    <>
      {line.added ? <span className="add">{code}</span> : code}
      {comment === "" ? null : <span className="note">{comment}</span>}
      {"\n"}
    </>
  );
}

interface SnippetProps {
  readonly lines: readonly SnippetLine[];
  /** The button may stand elsewhere. */
  readonly hasCopy?: boolean;
}

export function Snippet({ lines, hasCopy = true }: SnippetProps) {
  return (
    <div className={hasCopy ? "snippet short" : "snippet"}>
      <pre>
        {lines.map((line, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines of code have no other name
          <Line key={place} line={line} />
        ))}
      </pre>
      {hasCopy ? <CopyButton className="small" text={() => plainText(lines)} /> : null}
    </div>
  );
}

export const plainText = (lines: readonly SnippetLine[]) =>
  lines.map((line) => line.text).join("\n");

/** Code in lines. Those that `isAdded` picks stand out; without it, none. */
export const toLines = (text: string, isAdded?: RegExp): SnippetLine[] =>
  text
    .replace(/\n$/, "")
    .split("\n")
    .map((line) => ({ text: line, added: isAdded?.test(line) ?? false }));
