/** Which columns are shown; a change is kept in the address. */
import { Popover } from "./popover";

interface ColumnsMenuProps {
  readonly columns: readonly { readonly key: string; readonly label: string }[];
  readonly hidden: ReadonlySet<string>;
  readonly onChange: (hidden: string) => void;
}

/** The columns that are not shown: as the address says, else the usual ones. "none": all are. */
export const hiddenIn = (text: string | undefined, usual: string): ReadonlySet<string> =>
  new Set((text ?? usual).split(",").filter((key) => key !== "" && key !== "none"));

export function ColumnsMenu({ columns, hidden: off, onChange }: ColumnsMenuProps) {
  const choices = columns.filter((column) => column.key !== "name");
  const words = `Columns ${choices.filter(({ key }) => !off.has(key)).length}`;
  return (
    <Popover className="btn small" kind="dialog" label={words} button={words}>
      {() => (
        <fieldset className="menu-checks">
          <legend className="label">Columns</legend>
          {choices.map(({ key, label }) => (
            <label key={key} className="option">
              <input
                type="checkbox"
                checked={!off.has(key)}
                onChange={(event) => {
                  const next = new Set(off);
                  if (event.target.checked) {
                    next.delete(key);
                  } else {
                    next.add(key);
                  }
                  onChange([...next].sort().join(",") || "none");
                }}
              />
              {label}
            </label>
          ))}
        </fieldset>
      )}
    </Popover>
  );
}
