/** How the user arranged the rows: pinned, hidden, collapsed, compact, in another order. */
import { toggled } from "../../../base/sets";
import type { RowMode } from "../../../timeline/contract";

/** A subtree in focus: lanes of the row begin at its lane. */
export interface Focus {
  readonly lane: number;
  /** Slice that is its root. */
  readonly slice: number;
}

/** What a row's lanes look like; `deep` = all of them at full height. */
export type ChosenMode = RowMode | "deep";

/** Rows and groups go by id, see `idOf`. */
export interface Arrangement {
  readonly pinned: readonly string[];
  readonly hidden: ReadonlySet<string>;
  readonly collapsed: ReadonlySet<string>;
  readonly modes: ReadonlyMap<string, ChosenMode>;
  readonly order: readonly string[];
  readonly focus: ReadonlyMap<string, Focus>;
}

export const UNARRANGED: Arrangement = {
  pinned: [],
  hidden: new Set(),
  collapsed: new Set(),
  modes: new Map(),
  order: [],
  focus: new Map(),
};

/** A short name of a row for the address: FNV-1a of its key, base 36. */
export function idOf(key: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i += 1) {
    hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  }
  return (hash >>> 0).toString(36);
}

const MODE_LETTERS: Readonly<Record<ChosenMode, string>> = {
  full: "f",
  compact: "c",
  heat: "h",
  deep: "d",
};

function modeOf(letter: string | undefined): ChosenMode | undefined {
  const found = Object.entries(MODE_LETTERS).find(([, known]) => known === letter);
  return found?.[0] as ChosenMode | undefined;
}

/** `p.1a.2b~h.3c~m.4d-c`: a letter, then ids; only characters that an address leaves alone. */
export function formatArrangement(arrangement: Arrangement): string {
  const { pinned, hidden, collapsed, modes, order, focus } = arrangement;
  const sections: readonly (readonly [string, readonly string[]])[] = [
    ["p", pinned],
    ["h", [...hidden]],
    ["c", [...collapsed]],
    ["m", [...modes].map(([id, mode]) => `${id}-${MODE_LETTERS[mode]}`)],
    ["o", order],
    ["f", [...focus].map(([id, { lane, slice }]) => `${id}-${lane}-${slice}`)],
  ];
  return sections
    .filter(([, ids]) => ids.length > 0)
    .map(([letter, ids]) => [letter, ...ids].join("."))
    .join("~");
}

const ID = /^[0-9a-z]{1,7}$/;

export function parseArrangement(text: string | undefined): Arrangement {
  const sections = new Map<string, readonly string[]>();
  for (const section of (text ?? "").split("~")) {
    const [letter = "", ...ids] = section.split(".");
    sections.set(letter, ids);
  }
  const idsOf = (letter: string) => (sections.get(letter) ?? []).filter((id) => ID.test(id));
  const pairs = (sections.get("m") ?? []).flatMap((pair): [string, ChosenMode][] => {
    const [id = "", letter] = pair.split("-");
    const mode = modeOf(letter);
    return ID.test(id) && mode !== undefined ? [[id, mode]] : [];
  });
  const focus = (sections.get("f") ?? []).flatMap((entry): [string, Focus][] => {
    const match = /^([0-9a-z]{1,7})-(\d{1,5})-(\d{1,10})$/.exec(entry);
    return match?.[1] === undefined
      ? []
      : [[match[1], { lane: Number(match[2]), slice: Number(match[3]) }]];
  });
  return {
    pinned: idsOf("p"),
    hidden: new Set(idsOf("h")),
    collapsed: new Set(idsOf("c")),
    modes: new Map(pairs),
    order: idsOf("o"),
    focus: new Map(focus),
  };
}

export function withPinned(from: Arrangement, id: string, isPinned: boolean): Arrangement {
  const others = from.pinned.filter((known) => known !== id);
  return { ...from, pinned: isPinned ? [...others, id] : others };
}

/** Shows or hides rows; a hidden row is pinned no longer. */
export function withHidden(
  from: Arrangement,
  ids: readonly string[],
  isHidden: boolean,
): Arrangement {
  const hidden = ids.reduce((set, id) => toggled(set, id, isHidden), from.hidden);
  const pinned = isHidden ? from.pinned.filter((known) => !ids.includes(known)) : from.pinned;
  return { ...from, hidden, pinned };
}

export const withCollapsed = (
  from: Arrangement,
  id: string,
  isCollapsed: boolean,
): Arrangement => ({ ...from, collapsed: toggled(from.collapsed, id, isCollapsed) });

export function withMode(from: Arrangement, id: string, mode: ChosenMode | null): Arrangement {
  const modes = new Map(from.modes);
  if (mode === null) {
    modes.delete(id);
  } else {
    modes.set(id, mode);
  }
  return { ...from, modes };
}

export function withFocus(from: Arrangement, id: string, focus: Focus | null): Arrangement {
  const next = new Map(from.focus);
  if (focus === null) {
    next.delete(id);
  } else {
    next.set(id, focus);
  }
  return { ...from, focus: next };
}

/** The ids of one container in the order the user gave them; those not moved stay behind. */
export function inOrder(ids: readonly string[], order: readonly string[]): readonly string[] {
  const rank = new Map(order.map((id, place) => [id, place]));
  return ids.some((id) => rank.has(id))
    ? [...ids].sort(
        (a, b) =>
          (rank.get(a) ?? Number.POSITIVE_INFINITY) - (rank.get(b) ?? Number.POSITIVE_INFINITY) ||
          0,
      )
    : ids;
}

/** Moves one id of a container (given in its present order) by so many places. */
export function withMoved(
  from: Arrangement,
  container: readonly string[],
  id: string,
  by: number,
): Arrangement {
  const at = container.indexOf(id);
  const to = Math.min(Math.max(at + by, 0), container.length - 1);
  if (at < 0 || at === to) {
    return from;
  }
  const sequence = container.filter((known) => known !== id);
  sequence.splice(to, 0, id);
  const inside = new Set(container);
  return { ...from, order: [...from.order.filter((known) => !inside.has(known)), ...sequence] };
}
