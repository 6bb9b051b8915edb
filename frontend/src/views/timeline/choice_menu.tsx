/** A button that opens a choice of one among a few, each with a word of explanation. */
import type { ReactNode } from "react";
import { CheckIcon, Chevron } from "../../components/icons";
import { Popover } from "../../components/popover";

interface ChoiceMenuProps<T extends string> {
  readonly button: ReactNode;
  readonly label: string;
  readonly title?: string;
  readonly value: T;
  /** Value, words, hint. */
  readonly options: readonly (readonly [T, string, string])[];
  readonly onChange: (value: T) => void;
}

export function ChoiceMenu<T extends string>(props: ChoiceMenuProps<T>) {
  const { button, label, title = "", value, options, onChange } = props;
  return (
    <Popover
      className="btn tl-choice"
      kind="menu"
      label={typeof button === "string" ? button : label}
      button={
        <>
          <span>{button}</span>
          <Chevron />
        </>
      }
    >
      {(close) => (
        <div role="menu" aria-label={label}>
          {options.map(([key, words, hint]) => (
            <button
              key={key}
              type="button"
              role="menuitemradio"
              aria-checked={key === value}
              className="option"
              onClick={() => {
                close();
                onChange(key);
              }}
            >
              <span className="tick">{key === value ? <CheckIcon /> : null}</span>
              <span className="grow nowrap">{words}</span>
              <span className="hint nowrap">{hint}</span>
            </button>
          ))}
          {title === "" ? null : <p className="empty hint tl-lines">{title}</p>}
        </div>
      )}
    </Popover>
  );
}
