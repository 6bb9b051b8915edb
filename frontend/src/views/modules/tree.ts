/** Which rows of the tree of modules are to be seen, and in which order. */
import type { ModuleRow } from "../../api/types.gen";
import type { Sorting } from "../../components/data_table/rows";

/** What is open before someone opens or closes anything: so many levels, and no folded row. */
export const USUAL_LEVELS = 2;
export const ALL_LEVELS = Number.POSITIVE_INFINITY;
/** So many compiled functions, the longest, are seen at first, however deep they lie. */
export const MOST_WAYS = 8;

export const isFolded = (row: ModuleRow): boolean => row.members > 1;

/** Which rows are open: of the first levels and `ways` those that no press has closed, else those opened. */
export interface Opening {
  readonly levels: number;
  readonly ways?: ReadonlySet<string>;
  readonly toggled: ReadonlySet<string>;
}

export function isOpen(row: ModuleRow, { levels, ways, toggled }: Opening): boolean {
  const isNear = row.depth < levels || ways?.has(row.key) === true;
  const isUsually = isNear && !isFolded(row);
  return row.inside > 0 && isUsually !== toggled.has(row.key);
}

/** Keys of the rows around the longest compiled functions. */
export function waysToCompiled(rows: readonly ModuleRow[]): ReadonlySet<string> {
  const parents = new Map(rows.map(({ key, parent }) => [key, parent]));
  const compiled = rows.filter((row) => row.compiled !== null);
  const ways = new Set<string>();
  for (const row of compiled.sort((a, b) => b.total_ns - a.total_ns).slice(0, MOST_WAYS)) {
    for (let key = row.parent; parents.has(key); key = parents.get(key) ?? "") {
      ways.add(key);
    }
  }
  return ways;
}

/** Rows by the key of the row around them, in the order of each answer. */
export function byParent(
  answers: readonly (readonly ModuleRow[])[],
): ReadonlyMap<string, readonly ModuleRow[]> {
  const inside = new Map<string, ModuleRow[]>();
  for (const row of answers.flat()) {
    const siblings = inside.get(row.parent);
    if (siblings === undefined) {
      inside.set(row.parent, [row]);
    } else {
      siblings.push(row);
    }
  }
  return inside;
}

const { compare } = new Intl.Collator("en", { numeric: true });

function sortedSiblings(
  siblings: readonly ModuleRow[],
  { key, isDown }: Sorting,
): readonly ModuleRow[] {
  const sign = isDown ? -1 : 1;
  const value = (row: ModuleRow) => row[key as keyof ModuleRow];
  return [...siblings].sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    if (x === null || y === null) {
      return Number(x === null) - Number(y === null);
    }
    return sign * (typeof x === "number" ? x - Number(y) : compare(String(x), String(y)));
  });
}

/** The rows in no closed one, by depth first; their depth is that in what is seen. */
export function seenRows(
  inside: ReadonlyMap<string, readonly ModuleRow[]>,
  opening: Opening,
  sorting: Sorting,
): readonly ModuleRow[] {
  const seen: ModuleRow[] = [];
  const waiting: ModuleRow[] = [];
  const enter = (key: string, depth: number) => {
    const siblings = sortedSiblings(inside.get(key) ?? [], sorting);
    waiting.push(...siblings.map((row) => ({ ...row, depth })).reverse());
  };
  enter("", 0);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    seen.push(next);
    if (isOpen(next, opening)) {
      enter(next.key, next.depth + 1);
    }
  }
  return seen;
}
