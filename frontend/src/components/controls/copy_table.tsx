/** Takes a table away, for a spreadsheet, a program or a report; of a chart, what it is drawn of. */
import { type ReactNode, useRef, useState } from "react";
import { fileName, pictureOf, saveBlob } from "../../base/save";
import { type PlainTable, toCsv, toJson, toTsv } from "../../base/text/delimited";
import { count, plural } from "../../base/text/format";
import { Menu, MenuItem } from "../overlays/menu";
import { SaveIcon } from "../text/icons";
import { type CopyState, useCopy } from "./copy_button";

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

const FILES = [
  ["csv", "text/csv", toCsv],
  ["json", "application/json", toJson],
] as const;

const SIGNS: Readonly<Record<CopyState, ReactNode>> = {
  idle: <SaveIcon />,
  done: "Copied",
  refused: "Not allowed here",
};

/** The part of the page that a button belongs to: its panel, or the table around it. */
const partAround = (element: Element | null) =>
  element?.closest("section, [role=region]") ?? element?.closest("main") ?? null;

export function CopyTable({ label, table, note = "", isWaiting = false }: CopyTableProps) {
  const [state, copy] = useCopy();
  const [problem, setProblem] = useState("");
  const root = useRef<HTMLSpanElement>(null);
  const name = fileName(label.replace(/^(the|every|what was) /, ""));
  const savePicture = async () => {
    const part = partAround(root.current);
    try {
      if (part !== null) {
        saveBlob(await pictureOf(part), `${name}.png`);
      }
      setProblem("");
    } catch {
      setProblem("No picture in this browser");
    }
  };
  return (
    <span ref={root}>
      <Menu
        className="btn quiet small"
        label={`Copy or save ${label}`}
        button={<span aria-live="polite">{problem || SIGNS[state]}</span>}
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
        {FILES.map(([ending, type, form]) => (
          <MenuItem
            key={ending}
            words={`Save as ${ending.toUpperCase()}`}
            hint={`${name}.${ending}`}
            isDisabled={isWaiting}
            run={() => saveBlob(new Blob([form(table())], { type }), `${name}.${ending}`)}
          />
        ))}
        <MenuItem words="Save as PNG" hint="as shown" run={savePicture} />
        {note === "" ? null : (
          <p className="empty" role="status">
            {note}
          </p>
        )}
      </Menu>
    </span>
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
