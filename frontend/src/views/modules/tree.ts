/** Which rows of the tree of modules are to be seen, and in which order. */
import type { ModuleRow } from "../../api/types.gen";
import type { Sorting } from "../../components/data_table/rows";

/** What is open before someone opens or closes anything: so many levels, and no folded row. */
export const USUAL_LEVELS = 2;
export const ALL_LEVELS = Number.POSITIVE_INFINITY;

export const isFolded = (row: ModuleRow): boolean => row.members > 1;

/** Which rows are open: of the first levels those that no press has closed, else those opened. */
export interface Opening {
  readonly levels: number;
  readonly toggled: ReadonlySet<string>;
}

export function isOpen(row: ModuleRow, { levels, toggled }: Opening): boolean {
  const isUsually = row.depth < levels && !isFolded(row);
  return row.inside > 0 && isUsually !== toggled.has(row.key);
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
