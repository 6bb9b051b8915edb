/** Copies a table, for a spreadsheet or for a program. */
import { type PlainTable, toCsv, toTsv } from "../../base/text/delimited";
import { Popover } from "../overlays/popover";
import { useCopy } from "./copy_button";

interface CopyTableProps {
  readonly label: string;
  readonly table: () => PlainTable;
}

const FORMS = [
  ["Copy as TSV", "for a spreadsheet", toTsv],
  ["Copy as CSV", "for a program", toCsv],
] as const;

export function CopyTable({ label, table }: CopyTableProps) {
  const [state, copy] = useCopy();
  return (
    <Popover
      className="btn quiet small"
      kind="menu"
      label={`Copy ${label}`}
      button={
        <span aria-live="polite">
          {state === "idle" ? "Copy" : state === "done" ? "Copied" : "Not allowed here"}
        </span>
      }
    >
      {(close) => (
        <div role="menu" aria-label={`Copy ${label}`}>
          {FORMS.map(([words, purpose, form]) => (
            <button
              key={words}
              type="button"
              role="menuitem"
              className="option"
              onClick={() => {
                close();
                copy(form(table()));
              }}
            >
              <span className="grow">{words}</span>
              <span className="hint">{purpose}</span>
            </button>
          ))}
        </div>
      )}
    </Popover>
  );
}
