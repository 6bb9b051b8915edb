/** The first of a list, and a button that shows the others: nothing is left out without a word. */
import { type ReactNode, useState } from "react";
import { count, time } from "../../base/text/format";

export const FEW = 8;

interface FirstFewProps<T> {
  readonly items: readonly T[];
  /** How many there are; more than `items` where the server sent the largest only. */
  readonly total?: number;
  readonly most?: number;
  /** The way to those that were not sent. */
  readonly beyond?: ReactNode;
  readonly children: (shown: readonly T[]) => ReactNode;
}

export function FirstFew<T>({ items, total, most = FEW, beyond, children }: FirstFewProps<T>) {
  const [isOpen, setOpen] = useState(false);
  const unsent = Math.max(0, (total ?? 0) - items.length);
  return (
    <>
      {children(isOpen ? items : items.slice(0, most))}
      {items.length > most ? (
        <button
          type="button"
          className="link"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          {isOpen ? "show fewer" : `${count(items.length - most)} more`}
        </button>
      ) : null}
      {unsent > 0 ? (
        <p className="hint">
          {count(unsent)} {items.length > most ? "beyond these" : "more"}
          {beyond === undefined ? ", not listed here" : <>: {beyond}</>}
        </p>
      ) : null}
    </>
  );
}

/** One line of a short table: what it is, how often, how long in ns. */
export interface CallsLine {
  readonly key: string;
  readonly name: ReactNode;
  readonly calls: number;
  readonly ns: number;
}

interface FirstCallsProps<T> extends Omit<FirstFewProps<T>, "children"> {
  /** Headings of name, calls and time. */
  readonly head?: ReactNode;
  readonly lineOf: (one: T) => CallsLine;
}

/** The first of a list of what was called, as a table: name, calls, time. */
export function FirstCalls<T>({ head, lineOf, ...few }: FirstCallsProps<T>) {
  return (
    <FirstFew {...few}>
      {(shown) => (
        <table className="plain">
          {head === undefined ? null : (
            <thead>
              <tr>{head}</tr>
            </thead>
          )}
          <tbody>
            {shown.map(lineOf).map((line) => (
              <tr key={line.key}>
                <td className="name clip">{line.name}</td>
                <td className="num">{count(line.calls)}</td>
                <td className="num">{time(line.ns)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </FirstFew>
  );
}
