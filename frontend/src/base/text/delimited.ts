/** Tables as text, for a spreadsheet or a program: full precision, the unit in the column's name. */

export type Cell = string | number | boolean | null;

export interface PlainTable {
  readonly header: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

/** A field that is copied as it is, or one that is made of a row. */
type Field<R> =
  | { [K in keyof R]: R[K] extends Cell ? K & string : never }[keyof R]
  | readonly [header: string, value: (row: R) => Cell];

/** Rows as a table of such fields. */
export const plainTable =
  <R>(fields: readonly Field<R>[]) =>
  (rows: readonly R[]): PlainTable => ({
    header: fields.map((field) => (typeof field === "object" ? field[0] : field)),
    rows: rows.map((row) =>
      fields.map((field) => (typeof field === "object" ? field[1](row) : (row[field] as Cell))),
    ),
  });

function csvCell(cell: Cell): string {
  if (typeof cell !== "string") {
    return cell === null ? "" : String(cell);
  }
  // A leading = + - @ would be run as a formula; names in traces are not to be trusted with that.
  const text = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function tsvCell(cell: Cell): string {
  if (typeof cell !== "string") {
    return cell === null ? "" : String(cell);
  }
  const text = cell.replaceAll(/[\t\n\r]+/g, " ");
  return /^[=+\-@]/.test(text) ? `'${text}` : text;
}

export function toCsv(table: PlainTable): string {
  return [table.header, ...table.rows].map((row) => row.map(csvCell).join(",")).join("\n");
}

export function toTsv(table: PlainTable): string {
  return [table.header, ...table.rows].map((row) => row.map(tsvCell).join("\t")).join("\n");
}
