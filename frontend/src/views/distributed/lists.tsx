/** Collectives and operations, call by call: the long tables of the view. */
import { type ReactNode, useEffect, useState } from "react";
import type {
  Distributed,
  DistributedCollective,
  RankOperation,
  RankOperations,
} from "../../api/types.gen";
import { count, DASH, plural, time } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { CellBar } from "../../components/charts/cell_bar";
import { CopyTable } from "../../components/controls/copy_table";
import { Select } from "../../components/controls/select";
import { viewPatch } from "../../components/controls/view_link";
import { type Cells, declaredColumns, declaredToPlain } from "../../components/data_table/declared";
import { useSorted } from "../../components/data_table/rows";
import { DataTable } from "../../components/data_table/table";
import { Answered } from "../../components/states/answered";
import { FirstFew } from "../../components/states/first_few";
import { Panel } from "../../components/states/panel";
import { Prose } from "../../components/text/prose";
import { useAddress, useValues } from "../../state/host/environment";
import { useLeadsTo, useWords } from "../../state/page_context";
import { useAsked, usePart } from "../../state/parts";
import { speed } from "./bandwidth";
import { rankName } from "./rank_names";

/** Rows of a long table that stand there at first; the others a button shows. */
const MOST_ROWS = 12;

interface FewRowsProps<R> {
  readonly rows: readonly R[];
  readonly most?: number;
  readonly children: (rows: readonly R[]) => ReactNode;
}

/** The first rows of a sorted table, so that what stands below it is in reach. */
export function FewRows<R>({ rows, most = MOST_ROWS, children }: FewRowsProps<R>) {
  return (
    <div className="few-rows">
      <FirstFew items={rows} most={most}>
        {children}
      </FirstFew>
    </div>
  );
}

export const none = <span className="dim">{DASH}</span>;
export const known = <V,>(value: V | null, words: (value: V) => ReactNode) =>
  value === null ? none : words(value);

/** Bandwidth in the unit of its head. */
const speeds = <K extends "algorithm_gbs" | "bus_gbs">(key: K) => ({
  cell: (one: Readonly<Record<K, number | null>>) => known(one[key], speed),
});

/** Every collective, those with most waiting first. */
/** Who came last; of several that came at one instant the first, and how many the others are. */
function LastRank({ name, tied }: { name: string; tied: number }) {
  return tied === 0 ? (
    name
  ) : (
    <span title={`${plural(tied, "other rank")} arrived at the same instant`}>
      {name} <span className="dim">+{count(tied)}</span>
    </span>
  );
}

export function Collectives({ answer, isOld }: { answer: Distributed; isOld: boolean }) {
  const words = useWords();
  const { table, table_columns: heads } = answer;
  const address = useAddress();
  const hasTrace = useLeadsTo("timeline");
  const open = ({ link }: DistributedCollective) =>
    address.navigate(viewPatch(link.view, link.params));
  const most = Math.max(1, ...table.map(({ waiting_ns }) => waiting_ns ?? 0));
  const cells: Cells<DistributedCollective> = {
    number: { width: 56, grow: 0, cell: (one) => <span className="dim">{one.number}</span> },
    step: { width: 52, grow: 0 },
    operation: {
      width: 100,
      grow: 2,
      isMain: true,
      cell: (one) => (
        <span title={`${one.group}, ${plural(one.ranks, "rank")}, matched by ${one.match}`}>
          {harmless(one.operation)}
        </span>
      ),
    },
    group: { width: 130, grow: 1, cell: (one) => harmless(one.group, 40) },
    waiting_ns: {
      width: 100,
      grow: 2,
      isMain: true,
      cell: ({ waiting_ns }) =>
        known(waiting_ns, (ns) => (
          <CellBar value={ns} most={most} category="comm">
            {time(ns)}
          </CellBar>
        )),
    },
    algorithm_gbs: speeds("algorithm_gbs"),
    bus_gbs: speeds("bus_gbs"),
    last: {
      width: 60,
      isMain: true,
      isNumeric: false,
      cell: (one) => {
        const rank = one.last === null ? undefined : answer.ranks[one.last];
        return rank === undefined ? none : <LastRank name={rankName(rank)} tied={one.tied} />;
      },
    },
    verdict: {
      width: 116,
      grow: 0,
      isMain: true,
      cell: (one) => <span className="dim">{one.verdict}</span>,
    },
  };
  const shown = heads.filter(({ is_minor }) => !is_minor);
  const columns = declaredColumns(shown, table, cells);
  const toPlain = declaredToPlain<DistributedCollective>(heads);
  const sorted = useSorted(table, columns, { key: "waiting_ns", isDown: true });
  const isCut = table.length < answer.count;
  const cut = isCut ? `the ${count(table.length)} with most waiting of ` : "";
  return (
    <Panel
      title="Collectives"
      hint={`${cut}${plural(answer.count, "collective")} matched across ranks${answer.unmatched > 0 ? `; ${plural(answer.unmatched, "call")} without a counterpart` : ""}`}
      isOld={isOld}
      hasBody={false}
      controls={<CopyTable label="collectives" table={() => toPlain(table)} />}
    >
      <FewRows rows={sorted.rows}>
        {(rows) => (
          <DataTable
            label="Collectives"
            columns={columns}
            {...sorted}
            rows={rows}
            keyOf={({ number }) => number}
            toPlain={toPlain}
            empty={words("No collective of the chosen steps is on two ranks.")}
            {...(hasTrace ? { onChoose: open } : {})}
            isOld={isOld}
          />
        )}
      </FewRows>
    </Panel>
  );
}

interface OperationListProps {
  readonly found: RankOperations;
}

const OPERATION_CELLS: Cells<RankOperation> = {
  operation: { width: 100, grow: 2, cell: (one) => harmless(one.operation) },
  group: { width: 130, grow: 1, cell: (one) => harmless(one.group, 40) || none },
  calls: {
    cell: (one) => (
      <span title={one.alone > 0 ? `${count(one.alone)} that no other recording has` : ""}>
        {count(one.calls)}
      </span>
    ),
  },
  algorithm_gbs: speeds("algorithm_gbs"),
  bus_gbs: speeds("bus_gbs"),
};

/** Calls of one rank, or of all, by operation. */
function OperationList({ found: { columns: heads, rows } }: OperationListProps) {
  const words = useWords();
  const shown = heads.filter(({ is_minor }) => !is_minor);
  const columns = declaredColumns(shown, rows, OPERATION_CELLS);
  const sorted = useSorted(rows, columns, { key: "latency_ns", isDown: true });
  return (
    <FewRows rows={sorted.rows}>
      {(rows) => (
        <DataTable
          label="Communication operations"
          columns={columns}
          {...sorted}
          rows={rows}
          keyOf={({ operation, group }) => `${operation} ${group}`}
          toPlain={declaredToPlain(heads)}
          empty={words("This rank has no collective in the chosen steps.")}
        />
      )}
    </FewRows>
  );
}

export function Operations({ answer, isOld }: { answer: Distributed; isOld: boolean }) {
  const steps = useValues()["steps"] ?? "";
  const [rank, setRank] = useState("-1");
  const query = { steps, rank: Number(rank), ...(answer.waiting > 0 ? { so_far: true } : {}) };
  const state = usePart("distributed/ops", useAsked(), query, true);
  const { again } = state;
  const there = answer.ranks.filter((one) => one.used).length;
  // Each recording that has been read meanwhile joins.
  // biome-ignore lint/correctness/useExhaustiveDependencies: asked again when there are more
  useEffect(() => {
    if (answer.waiting > 0 || there > 0) {
      again();
    }
  }, [there]);
  const used = answer.ranks.flatMap((one, row) => (one.used ? [[String(row), rankName(one)]] : []));
  return (
    <Panel
      title="Communication operations"
      isOld={isOld || state.isOld}
      hasBody={false}
      controls={
        <>
          <Select
            label="Rank"
            value={rank}
            options={[["-1", "All ranks"], ...used.map(([a = "", b = ""]) => [a, b] as const)]}
            onChange={setRank}
          />
          <CopyTable
            label="communication operations"
            table={() => declaredToPlain(state.data?.columns ?? [])(state.data?.rows ?? [])}
          />
        </>
      }
    >
      <Answered state={state}>
        {(found) => (
          <>
            <OperationList found={found} />
            {found.reason === "" ? null : (
              <p className="below ink2 small">
                <Prose text={found.reason} />
              </p>
            )}
          </>
        )}
      </Answered>
    </Panel>
  );
}
