/** Tables as text, for a spreadsheet or a program: full precision, the unit in the column's name. */

export type Cell = string | number | boolean | null;

export interface PlainTable {
  readonly header: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

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
