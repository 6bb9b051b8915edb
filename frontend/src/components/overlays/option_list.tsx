/** A list to choose from by keyboard or pointer, searchable when it is long. */
import {
  Fragment,
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useId,
  useRef,
  useState,
} from "react";
import { walked } from "../../base/walk";
import { SearchIcon } from "../text/icons";

export interface Option {
  readonly key: string;
  /** What is searched, and read aloud. */
  readonly text: string;
  readonly content: ReactNode;
  readonly isSelected?: boolean;
  /** What stands above the first of those that belong together; "" or none: nothing. */
  readonly group?: string;
  /** It stands there whatever is typed. */
  readonly isLasting?: boolean;
}

interface OptionListProps {
  readonly label: string;
  readonly options: readonly Option[];
  readonly onPick: (key: string) => void;
  readonly isSearchable: boolean;
  readonly placeholder?: string;
  /** Hears what is typed, where options are found elsewhere too. */
  readonly onQuery?: (query: string) => void;
  /** What the search is doing; "" where there is nothing to say. */
  readonly status?: string;
}

const SHOWN_MAX = 200;

/** All words of the query occur in the text. */
export function matches(text: string, query: string): boolean {
  const lower = text.toLowerCase();
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word));
}

export function OptionList({
  label,
  options,
  onPick,
  isSearchable,
  placeholder = "Search",
  onQuery,
  status = "",
}: OptionListProps) {
  const id = useId();
  const [query, setQuery] = useState("");
  const found = options.filter(
    (option) => option.isLasting === true || matches(option.text, query),
  );
  const shown = found.slice(0, SHOWN_MAX);
  const [active, setActive] = useState(() =>
    Math.max(
      0,
      shown.findIndex((option) => option.isSelected),
    ),
  );
  const current = Math.min(active, shown.length - 1);
  const field = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);

  useEffect(() => (field.current ?? list.current)?.focus(), []);
  useEffect(() => {
    list.current
      ?.querySelectorAll("[role=option]")
      [current]?.scrollIntoView?.({ block: "nearest" });
  }, [current]);

  const onKeyDown = (event: KeyboardEvent) => {
    const target = walked(event.key, current, shown.length, ["ArrowUp", "ArrowDown"]);
    const picked = shown[current];
    if (target !== null && !(isSearchable && ["Home", "End"].includes(event.key))) {
      event.preventDefault();
      setActive(target);
    } else if (event.key === "Enter" && picked !== undefined) {
      event.preventDefault();
      onPick(picked.key);
    }
  };
  const activeId = shown[current] === undefined ? undefined : `${id}-${current}`;
  const items = (
    <div
      id={id}
      role="listbox"
      aria-label={label}
      ref={list}
      tabIndex={isSearchable ? undefined : 0}
      onKeyDown={isSearchable ? undefined : onKeyDown}
      aria-activedescendant={isSearchable ? undefined : activeId}
    >
      {shown.map((option, place) => (
        <Fragment key={option.key}>
          {(option.group ?? "") === (shown[place - 1]?.group ?? "") ? null : (
            <div role="presentation" className="label option-group">
              {option.group}
            </div>
          )}
          {/* biome-ignore lint/a11y/useKeyWithClickEvents: the list handles keys */}
          <div
            id={`${id}-${place}`}
            role="option"
            tabIndex={-1}
            className={place === current ? "option active" : "option"}
            aria-selected={option.isSelected === true}
            onClick={() => onPick(option.key)}
          >
            {option.content}
          </div>
        </Fragment>
      ))}
    </div>
  );
  return (
    <>
      {isSearchable ? (
        <div className="input">
          <SearchIcon />
          <input
            ref={field}
            type="search"
            role="combobox"
            aria-expanded="true"
            aria-controls={id}
            aria-activedescendant={activeId}
            aria-label={placeholder}
            placeholder={placeholder}
            value={query}
            autoComplete="off"
            spellCheck={false}
            onKeyDown={onKeyDown}
            onChange={(event) => {
              setQuery(event.target.value);
              setActive(0);
              onQuery?.(event.target.value);
            }}
          />
        </div>
      ) : null}
      {items}
      {status === "" ? null : (
        <p className="empty" role="status">
          {status}
        </p>
      )}
      {shown.length === 0 && status === "" ? <p className="empty">Nothing of that name.</p> : null}
      {found.length > shown.length ? (
        <p className="empty">{found.length - shown.length} more: type to narrow the list.</p>
      ) : null}
    </>
  );
}
