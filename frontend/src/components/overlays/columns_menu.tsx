/** Which columns of a table are shown; the first one always is. */
import { toggled } from "../../base/sets";
import { Popover } from "./popover";

interface ColumnsMenuProps {
  readonly columns: readonly { readonly key: string; readonly head: string }[];
  readonly hidden: ReadonlySet<string>;
  readonly onChange: (hidden: string) => void;
}

/** The columns that are not shown: as the address says, else the usual ones. "none": all are. */
export const hiddenIn = (text: string | undefined, usual: string): ReadonlySet<string> =>
  new Set((text ?? usual).split(",").filter((key) => key !== "" && key !== "none"));

export function ColumnsMenu({ columns, hidden: off, onChange }: ColumnsMenuProps) {
  const choices = columns.slice(1);
  const words = `Columns ${choices.filter(({ key }) => !off.has(key)).length}`;
  return (
    <Popover className="btn small" kind="dialog" label={words} button={words}>
      {() => (
        <fieldset className="menu-checks">
          <legend className="label">Columns</legend>
          {choices.map(({ key, head }) => (
            <label key={key} className="option">
              <input
                type="checkbox"
                checked={!off.has(key)}
                onChange={(event) => {
                  const next = toggled(off, key, !event.target.checked);
                  onChange([...next].sort().join(",") || "none");
                }}
              />
              {head}
            </label>
          ))}
        </fieldset>
      )}
    </Popover>
  );
}
