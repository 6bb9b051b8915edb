/** Copies a table, for a spreadsheet or for a program. */
import { useState } from "react";
import { type PlainTable, toCsv, toTsv } from "../../base/text/delimited";
import { count, plural } from "../../base/text/format";
import { Menu, MenuItem } from "../overlays/menu";
import { useCopy } from "./copy_button";

interface CopyTableProps {
  readonly label: string;
  readonly table: () => PlainTable;
  /** What is copied, or what it waits for. */
  readonly note?: string;
  /** The table is not complete yet, so it cannot be copied. */
  readonly isWaiting?: boolean;
}

const FORMS = [
  ["Copy as TSV", "for a spreadsheet", toTsv],
  ["Copy as CSV", "for a program", toCsv],
] as const;

export function CopyTable({ label, table, note = "", isWaiting = false }: CopyTableProps) {
  const [state, copy] = useCopy();
  return (
    <Menu
      className="btn quiet small"
      label={`Copy ${label}`}
      button={
        <span aria-live="polite">
          {state === "idle" ? "Copy" : state === "done" ? "Copied" : "Not allowed here"}
        </span>
      }
    >
      {FORMS.map(([words, purpose, form]) => (
        <MenuItem
          key={words}
          words={words}
          hint={purpose}
          isDisabled={isWaiting}
          run={() => copy(form(table()))}
        />
      ))}
      {note === "" ? null : (
        <p className="empty" role="status">
          {note}
        </p>
      )}
    </Menu>
  );
}

/** As many rows as the server sends at once. */
const MOST_ROWS = 1000;

interface CopyRowsProps<R> {
  readonly label: string;
  /** A window of the table. */
  readonly ask: (
    offset: number,
    limit: number,
  ) => Promise<{ readonly rows: readonly R[]; readonly count: number }>;
  readonly toTable: (rows: readonly R[]) => PlainTable;
}

/**
 * Copies every row of a table that the server holds. The rows are fetched when the pointer or the
 * focus comes near, because browsers allow copying only at once after a click.
 */
export function CopyRows<R>({ label, ask, toTable }: CopyRowsProps<R>) {
  const [rows, setRows] = useState<readonly R[]>([]);
  const [total, setTotal] = useState<number | null>(null);
  const [state, setState] = useState<"idle" | "asking" | "failed">("idle");
  const isWhole = total !== null && rows.length >= total;
  const prepare = async () => {
    if (isWhole || state === "asking") {
      return;
    }
    setState("asking");
    try {
      const found: R[] = [];
      for (let size = 1; found.length < size; ) {
        const window = await ask(found.length, MOST_ROWS);
        found.push(...window.rows);
        size = window.rows.length === 0 ? found.length : window.count;
        setRows([...found]);
        setTotal(size);
      }
      setState("idle");
    } catch {
      setState("failed");
    }
  };
  const note = isWhole
    ? plural(rows.length, "row")
    : state === "failed"
      ? "The rows could not be fetched; point here again."
      : `Fetching rows: ${count(rows.length)}${total === null ? "" : ` of ${count(total)}`}`;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: only fetches ahead
    <span onMouseEnter={prepare} onFocus={prepare}>
      <CopyTable label={label} table={() => toTable(rows)} note={note} isWaiting={!isWhole} />
    </span>
  );
}
