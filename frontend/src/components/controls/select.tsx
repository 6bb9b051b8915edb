/** A choice of one among several, in the browser's own list. */

interface SelectProps<T extends string> {
  /** What is chosen; for a field that has a label of its own, none. */
  readonly label?: string;
  readonly id?: string;
  readonly options: readonly (readonly [T, string, ...unknown[]])[];
  readonly value: T;
  readonly onChange: (value: T) => void;
}

export function Select<T extends string>({ label, id, options, value, onChange }: SelectProps<T>) {
  return (
    <select
      id={id}
      aria-label={label}
      className="btn small"
      value={value}
      onChange={(event) => onChange(event.target.value as T)}
    >
      {options.map(([key, words]) => (
        <option key={key} value={key}>
          {words}
        </option>
      ))}
    </select>
  );
}
