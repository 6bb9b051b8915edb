/** A field that narrows a list or a picture by name. */
import { SearchIcon } from "../text/icons";

interface SearchFieldProps {
  /** What is searched: the name of the field, and what stands in it while it is empty. */
  readonly words: string;
  readonly label?: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

export function SearchField({ words, label = words, value, onChange }: SearchFieldProps) {
  return (
    <div className="input">
      <SearchIcon />
      <input
        type="search"
        // "/" leads here.
        data-filter=""
        aria-label={label}
        placeholder={words}
        value={value}
        spellCheck={false}
        onChange={(event) => onChange(event.target.value)}
      />
    </div>
  );
}
