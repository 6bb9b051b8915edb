/** The order of a table's rows, the same whether the page sorts a list or a report its stored rows. */

const { compare } = new Intl.Collator("en", { numeric: true });

export type SortValue = string | number | null;

/** The value of a column that the server declares: the row's own; an empty text is none. */
export const ownValue =
  <R>(key: string) =>
  (row: R): SortValue => {
    const value = (row as Readonly<Record<string, unknown>>)[key] ?? "";
    return value === "" ? null : typeof value === "string" ? value : Number(value);
  };

/** Rows by a value; those without one come last, whatever the direction. */
export const inOrder = <R>(rows: readonly R[], value: (row: R) => SortValue, isUp: boolean): R[] =>
  [...rows].sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    if (x === null || y === null) {
      return Number(x === null) - Number(y === null);
    }
    const order = typeof x === "string" ? compare(x, String(y)) : x - Number(y);
    return isUp ? order : -order;
  });
