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

const CONTROL = /[\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e\u2066-\u2069\ufffe\uffff]/gu;

/**
 * A cell for a spreadsheet, as the command line writes it: a text is no formula, since names in
 * traces are not to be trusted with that, and its control characters are written out.
 */
function harmless(cell: Cell): string {
  if (typeof cell !== "string") {
    return cell === null ? "" : String(cell);
  }
  const text = cell.replaceAll(CONTROL, (sign) => {
    const code = sign.charCodeAt(0);
    return code < 0x100
      ? `\\x${code.toString(16).padStart(2, "0")}`
      : `\\u${code.toString(16).padStart(4, "0")}`;
  });
  return /^[=+\-@\t\r]/.test(cell) ? `'${text}` : text;
}

function quoted(text: string): string {
  return /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function toCsv(table: PlainTable): string {
  return [table.header, ...table.rows]
    .map((row) => row.map((cell) => quoted(harmless(cell))).join(","))
    .join("\n");
}

/** One object a row. */
export function toJson({ header, rows }: PlainTable): string {
  const objects = rows.map((row) =>
    Object.fromEntries(header.map((name, place) => [name, row[place] ?? null])),
  );
  return `${JSON.stringify(objects, null, 1)}\n`;
}

export function toTsv(table: PlainTable): string {
  return [table.header, ...table.rows].map((row) => row.map(harmless).join("\t")).join("\n");
}
