/** Which columns are shown; a change is kept in the address. */
import { Popover } from "./popover";

interface ColumnsMenuProps {
  readonly columns: readonly { readonly key: string; readonly label: string }[];
  readonly hidden: string | undefined;
  readonly onChange: (hidden: string) => void;
}

export const hiddenIn = (text: string | undefined): ReadonlySet<string> =>
  new Set((text ?? "").split(",").filter(Boolean));

export function ColumnsMenu({ columns, hidden, onChange }: ColumnsMenuProps) {
  const off = hiddenIn(hidden);
  const choices = columns.filter((column) => column.key !== "name");
  return (
    <Popover
      className="btn small"
      kind="dialog"
      label="Columns"
      button={`Columns ${choices.length - off.size}`}
    >
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
                  onChange([...next].sort().join(","));
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
