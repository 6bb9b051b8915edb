/** Names of ranks and groups of ranks, and the ramp that figures of ranks are drawn with. */
import type { Distributed, DistributedRank } from "../../api/types.gen";
import { harmless } from "../../base/text/shown_name";
import { useValues } from "../../state/host/environment";

/** "rank 3", or the worker where its rank is not known. */
export const rankName = ({ rank, worker }: DistributedRank): string =>
  rank === null ? harmless(worker, 40) : `rank ${rank}`;

/** Whether a rank is meant by what was typed: its number, or a part of its worker's or node's name. */
export function isMeant({ rank, worker, node }: DistributedRank, text: string): boolean {
  const words = text.trim().toLowerCase();
  const number = /^(?:rank )?(\d+)$/.exec(words)?.[1];
  return number !== undefined
    ? rank === Number(number) || (rank === null && worker.includes(number))
    : worker.toLowerCase().includes(words) || node.toLowerCase().includes(words);
}

/** The row of the rank that is looked for; null: none is, or there is none. */
export function useFoundRank(answer: Distributed): number | null {
  const text = useValues()["distributed.find"] ?? "";
  const row = text === "" ? -1 : answer.ranks.findIndex((rank) => rank.used && isMeant(rank, text));
  return row < 0 ? null : row;
}

/** Rows of ranks that are drawn as one line: a rank, a node, or neighbours. */
export interface RankLine {
  readonly label: string;
  readonly rows: readonly number[];
}

/** More lines than this are nodes, or neighbours, of which the worst is shown. */
export const MOST_LINES = 96;

/** What its worst rank costs the others, then what it waits for them. */
function weight(answer: Distributed, { rows }: { readonly rows: readonly number[] }): number[] {
  const most = (key: "cost_ns" | "lost_ns") =>
    Math.max(0, ...rows.map((row) => answer.ranks[row]?.[key] ?? 0));
  return [most("cost_ns"), most("lost_ns")];
}

/** Nodes or neighbours with that of `open` first, then by what their worst rank costs. */
function worstFirst<T extends { readonly rows: readonly number[] }>(
  answer: Distributed,
  lines: Iterable<T>,
  open: number | null,
): T[] {
  const known = [...lines].map((line) => ({
    line,
    key: [Number(open !== null && line.rows.includes(open)), ...weight(answer, line)],
  }));
  known.sort((a, b) => b.key.map((one, at) => one - (a.key[at] ?? 0)).find(Boolean) ?? 0);
  return known.map(({ line }) => line);
}

/** The lines of a picture of all ranks; many are nodes, the worst first, with `open`'s ranks apart. */
export function linesOf(answer: Distributed, open: number | null): readonly RankLine[] {
  const used = answer.ranks.flatMap((rank, row) => (rank.used ? [{ rank, row }] : []));
  if (used.length <= MOST_LINES) {
    return used.map(({ rank, row }) => ({ label: rankName(rank), rows: [row] }));
  }
  const nodes = new Map<string, { label: string; rows: number[] }>();
  const names = new Set(used.map(({ rank }) => rank.node));
  const isNode = names.size > 1 && names.size <= 2 * MOST_LINES;
  const chunk = Math.ceil(used.length / MOST_LINES);
  for (const [at, { rank, row }] of used.entries()) {
    const key = isNode ? rank.node : String(Math.floor(at / chunk));
    const line = nodes.get(key) ?? { label: isNode ? harmless(rank.node, 24) : "", rows: [] };
    line.rows.push(row);
    nodes.set(key, line);
  }
  return worstFirst(answer, nodes.values(), open).flatMap((line): RankLine[] => {
    const first = answer.ranks[line.rows[0] ?? 0];
    const last = answer.ranks[line.rows.at(-1) ?? 0];
    const label =
      line.label === "" && first !== undefined && last !== undefined
        ? `${rankName(first)}–${last.rank ?? ""}`
        : line.label;
    return open !== null && line.rows.includes(open)
      ? line.rows.map((row) => ({
          label: rankName(answer.ranks[row] as DistributedRank),
          rows: [row],
        }))
      : [{ label, rows: line.rows }];
  });
}

export const RAMP = ["--h0", "--h1", "--h2", "--h3", "--h4", "--h5", "--h6"] as const;

/** The step of the ramp for a value: 0 for none, then by the root, so that small ones part. */
export function rampStep(value: number, most: number): number {
  const last = RAMP.length - 1;
  if (value <= 0 || most <= 0) {
    return 0;
  }
  return Math.min(last, 1 + Math.floor(Math.sqrt(value / most) * (last - 0.5)));
}

const CLASSES = ["ramp-0", "ramp-1", "ramp-2", "ramp-3", "ramp-4", "ramp-5", "ramp-6"] as const;

/** The fill of a cell; null: there is no value. */
export const rampClass = (value: number | null, most: number): string =>
  value === null ? "ramp-none" : (CLASSES[rampStep(value, most)] ?? CLASSES[0]);
