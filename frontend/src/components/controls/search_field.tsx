/** A field that narrows a list or a picture by name. */
import { SearchIcon } from "../text/icons";

/** Longer names are found by their first characters. */
export const SEARCH_MAX = 4000;
export const searched = (name: string): string => name.slice(0, SEARCH_MAX);

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
        maxLength={SEARCH_MAX}
        aria-label={label}
        placeholder={words}
        value={value}
        spellCheck={false}
        onChange={(event) => onChange(event.target.value)}
      />
    </div>
  );
}
