/** The search over all names: what matches, how often, and from one hit to the next. */

import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { count, plural, time } from "../../../base/text/format";
import { walked } from "../../../base/walk";
import { IconButton } from "../../../components/controls/icon_button";
import { SEARCH_MAX } from "../../../components/controls/search_field";
import { SearchIcon } from "../../../components/text/icons";
import { useCell } from "../../../state/cell";
import { NextIcon, PreviousIcon } from "../icons";
import { sameSlice } from "../state/address";
import { type TimelineContext, useTimelineContext } from "../state/context";
import type { FoundName } from "../state/search";
import { KindName } from "../tracks/kinds";

const WAIT_MS = 180;

/** The text as it is typed; the address gets it a moment later. */
function useTyped({ link, change }: TimelineContext): readonly [string, (text: string) => void] {
  const [typed, setTyped] = useState(link.find);
  const [seen, setSeen] = useState(link.find);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  if (link.find !== seen) {
    // Changed elsewhere: by a link, by "same name", by Esc.
    setSeen(link.find);
    setTyped(link.find);
  }
  useEffect(() => () => clearTimeout(timer.current), []);
  const type = (text: string) => {
    setTyped(text);
    clearTimeout(timer.current);
    timer.current = setTimeout(
      () => {
        setSeen(text);
        change(link.match === "exact" ? { find: text, match: "text" } : { find: text });
      },
      text === "" ? 0 : WAIT_MS,
    );
  };
  return [typed, type];
}

interface NamesProps {
  readonly id: string;
  readonly names: readonly FoundName[];
  readonly active: number;
  readonly onPick: (name: FoundName) => void;
}

function Names({ id, names, active, onPick }: NamesProps) {
  const { search } = useTimelineContext();
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.children[active]?.scrollIntoView?.({ block: "nearest" });
  }, [active]);
  return (
    <div className="menu tl-found">
      <div ref={list} id={id} role="listbox" aria-label="Names found">
        {names.map((name, place) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field takes the keys
          <div
            key={name.text}
            id={`${id}-${place}`}
            role="option"
            tabIndex={-1}
            aria-selected={place === active}
            className={place === active ? "option active" : "option"}
            onPointerDown={(event) => event.preventDefault()}
            onClick={() => onPick(name)}
          >
            <KindName kind={name.kind} name={name.text} />
            <span className="grow" />
            <span className="hint nowrap">{count(name.slices)}×</span>
            <span className="hint nowrap tl-found-total">{time(name.total_ns)}</span>
          </div>
        ))}
      </div>
      {search.nameCount > names.length ? (
        <p className="empty">
          {names.length} of {plural(search.nameCount, "name")}: type to narrow the list.
        </p>
      ) : null}
      <p className="empty hint">
        <kbd>Enter</kbd> next hit <kbd>Shift Enter</kbd> previous <kbd>↓</kbd> one name alone
      </p>
    </div>
  );
}

/** "54 of 117", once one of them was gone to. */
function HitCount() {
  const { search, moving, selection, sources } = useTimelineContext();
  const at = useCell(moving.position);
  if (!search.isActive) {
    return null;
  }
  if (search.problem !== "") {
    return (
      <span className="bad nowrap clip" role="status" title={search.problem}>
        {search.problem}
      </span>
    );
  }
  const hidden = sources.reduce((sum, { manifest }) => sum + manifest.hidden, 0);
  // Among several workers, the place among the hits of one says little.
  const isAt =
    sources.length === 1 && at?.find === search.text && sameSlice(at.key, selection?.key);
  const words = isAt
    ? `${count(at.position)} of ${count(search.slices)}`
    : search.isLoading && search.slices === 0
      ? "…"
      : plural(search.slices, "hit");
  return (
    <span
      className="dim nowrap"
      role="status"
      title={`${plural(search.slices, "slice")} of ${plural(search.nameCount, "name")}${
        hidden > 0 ? `; ${plural(hidden, "hidden Python frame")} not searched` : ""
      }`}
    >
      {hidden > 0 && search.slices === 0 && !search.isLoading
        ? `${words}, hidden frames not searched`
        : words}
    </span>
  );
}

export function SearchBox() {
  const timeline = useTimelineContext();
  const { link, change, search, actions } = timeline;
  const id = useId();
  const [typed, type] = useTyped(timeline);
  const [isOpen, setOpen] = useState(false);
  const [active, setActive] = useState(-1);
  const { names } = search;
  const isListed = isOpen && link.match !== "exact" && typed !== "" && names.length > 0;

  const pick = ({ text }: FoundName) => {
    setOpen(false);
    setActive(-1);
    actions.find(text, "exact");
  };
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    const picked = names[active];
    const to = walked(event.key, active, names.length, ["ArrowUp", "ArrowDown"]);
    if (event.key === "Escape") {
      event.preventDefault();
      if (isListed && active >= 0) {
        setActive(-1);
      } else {
        type("");
        event.currentTarget.blur();
      }
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (isListed && picked !== undefined) {
        pick(picked);
      } else {
        setOpen(false);
        actions.hit(!event.shiftKey);
      }
    } else if (to !== null && isListed && event.key.startsWith("Arrow")) {
      event.preventDefault();
      setActive(to);
    }
  };
  const isRegex = link.match === "regex";
  return (
    <>
      <div className="input tl-search">
        <SearchIcon />
        <input
          type="search"
          role="combobox"
          data-filter=""
          aria-label="Search all names"
          aria-expanded={isListed}
          aria-controls={id}
          aria-activedescendant={isListed && active >= 0 ? `${id}-${active}` : undefined}
          placeholder="Search names"
          autoComplete="off"
          spellCheck={false}
          maxLength={SEARCH_MAX}
          value={typed}
          onFocus={() => setOpen(true)}
          onBlur={() => {
            setOpen(false);
            setActive(-1);
          }}
          onChange={(event) => {
            setOpen(true);
            setActive(-1);
            type(event.target.value);
          }}
          onKeyDown={onKeyDown}
        />
        {link.match === "exact" && typed !== "" ? <span className="chip">this name</span> : null}
        <button
          type="button"
          className="tl-regex"
          aria-pressed={isRegex}
          aria-label="Regular expression"
          title="Regular expression"
          onClick={() => change({ match: isRegex ? "text" : "regex" })}
        >
          .*
        </button>
        {typed === "" ? <kbd>/</kbd> : null}
        {isListed ? <Names id={id} names={names} active={active} onPick={pick} /> : null}
      </div>
      <HitCount />
      {search.isActive ? (
        <span className="nowrap">
          <IconButton label="Previous hit" keys="Shift Enter" onClick={() => actions.hit(false)}>
            <PreviousIcon />
          </IconButton>
          <IconButton label="Next hit" keys="Enter" onClick={() => actions.hit(true)}>
            <NextIcon />
          </IconButton>
        </span>
      ) : null}
    </>
  );
}
