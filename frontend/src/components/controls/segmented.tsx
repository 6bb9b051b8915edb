/** A choice of one among a few words. */
import { useId } from "react";
import { useWords } from "../../state/page_context";

interface SegmentedProps<T extends string> {
  readonly label: string;
  /** With a reason why it cannot be chosen; "" or none: it can. */
  readonly options: readonly (readonly [T, string, string?])[];
  readonly value: T;
  readonly onChange: (value: T) => void;
}

export function Segmented<T extends string>({
  label,
  options,
  value,
  onChange,
}: SegmentedProps<T>) {
  const name = useId();
  const inWords = useWords();
  return (
    <div className="seg" role="radiogroup" aria-label={inWords(label)}>
      {options.map(([key, words, missing = ""]) => (
        <label key={key} title={missing} className={missing === "" ? "" : "off"}>
          <input
            type="radio"
            name={name}
            checked={key === value}
            disabled={missing !== ""}
            onChange={() => onChange(key)}
          />
          {inWords(words)}
        </label>
      ))}
    </div>
  );
}
