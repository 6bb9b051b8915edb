/** The first of a list, and a button that shows the others: nothing is left out without a word. */
import { type ReactNode, useState } from "react";
import { count } from "../../base/text/format";
import { Heading } from "../data_table/heading";

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
          {count(unsent)} {items.length > most ? "others" : "more"}
          {beyond === undefined ? ", not listed here" : <>: {beyond}</>}
        </p>
      ) : null}
    </>
  );
}

/** One figure of every row of a short table; its value carries its unit. */
export interface Figure<T> {
  readonly head: string;
  readonly help: string;
  readonly words: (one: T) => string;
}

interface FirstRowsProps<T> extends Omit<FirstFewProps<T>, "children"> {
  /** The heading of the names, and what is listed. */
  readonly head: string;
  readonly help: string;
  readonly keyOf: (one: T) => string;
  readonly nameOf: (one: T) => ReactNode;
  /** All of a name that has no tooltip of its own. */
  readonly titleOf?: (one: T) => string;
  readonly figures: readonly Figure<T>[];
}

/** The first of a list as a table: the name and its figures, each below its heading. */
export function FirstRows<T>(props: FirstRowsProps<T>) {
  const { head, help, keyOf, nameOf, titleOf, figures, ...few } = props;
  return (
    <FirstFew {...few}>
      {(shown) => (
        <table className="plain">
          <thead>
            <tr>
              <Heading help={help}>{head}</Heading>
              {figures.map((figure) => (
                <Heading key={figure.head} help={figure.help} className="num">
                  {figure.head}
                </Heading>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((one) => (
              <tr key={keyOf(one)}>
                <td className="name clip" title={titleOf?.(one)}>
                  {nameOf(one)}
                </td>
                {figures.map((figure) => (
                  <td key={figure.head} className="num">
                    {figure.words(one)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </FirstFew>
  );
}
