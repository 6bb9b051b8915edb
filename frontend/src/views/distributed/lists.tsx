/** Collectives and operations, call by call: the long tables of the view. */
import { type ReactNode, useEffect, useState } from "react";
import type { Distributed, DistributedCollective, RankOperation } from "../../api/types.gen";
import { plainTable } from "../../base/text/delimited";
import { bytes, count, DASH, plural, time } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { CopyTable } from "../../components/controls/copy_table";
import { Select } from "../../components/controls/select";
import { useSorted } from "../../components/data_table/rows";
import { type Column, DataTable, numberColumn } from "../../components/data_table/table";
import { Answered } from "../../components/states/answered";
import { FirstFew } from "../../components/states/first_few";
import { Panel } from "../../components/states/panel";
import { Prose } from "../../components/text/prose";
import { useValues } from "../../state/host/environment";
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
export const known = <V,>(value: V | null, words: (value: V) => string) =>
  value === null ? none : words(value);

/** Every collective, those with most waiting first. */
const plainCollectives = plainTable<DistributedCollective>([
  "number",
  "step",
  "group",
  "operation",
  "bytes",
  "ranks",
  "skew_ns",
  "waiting_ns",
  "transfer_ns",
  "algorithm_gbs",
  "bus_gbs",
  "last",
  "tied",
  "match",
  "verdict",
]);

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
  const most = Math.max(1, ...answer.table.map(({ waiting_ns }) => waiting_ns ?? 0));
  const has = (is: (one: DistributedCollective) => boolean) => answer.table.some(is);
  const columns: readonly Column<DistributedCollective>[] = [
    {
      key: "number",
      head: "#",
      help: "Its place among the collectives of the run, in time.",
      width: 56,
      grow: 0,
      sort: (one) => one.number,
      cell: (one) => <span className="dim">{one.number}</span>,
    },
    ...(new Set(answer.table.map(({ step }) => step)).size > 1
      ? [
          {
            key: "step",
            head: "Step",
            help: "The step of the recording in which it began.",
            width: 52,
            grow: 0,
            sort: (one: DistributedCollective) => Number(one.step),
            cell: (one: DistributedCollective) => one.step,
          },
        ]
      : []),
    {
      key: "operation",
      head: "Operation",
      help: "What it does. Its group, its ranks and how they were matched stand on its name.",
      width: 100,
      grow: 2,
      isMain: true,
      sort: (one) => one.operation,
      cell: (one) => (
        <span title={`${one.group}, ${plural(one.ranks, "rank")}, matched by ${one.match}`}>
          {harmless(one.operation)}
        </span>
      ),
    },
    ...(answer.groups.length > 1
      ? [
          {
            key: "group",
            head: "Group",
            help: "The process group that it runs in.",
            width: 130,
            grow: 1,
            sort: (one: DistributedCollective) => one.group,
            cell: (one: DistributedCollective) => harmless(one.group, 40),
          },
        ]
      : []),
    numberColumn("bytes", "Size", (one) => known(one.bytes, bytes), {
      sort: (one) => one.bytes,
      help: answer.definitions["size"] ?? "",
    }),
    numberColumn("skew", "Start spread", ({ skew_ns }) => known(skew_ns, time), {
      sort: ({ skew_ns }) => skew_ns,
      help: answer.definitions["skew"] ?? "",
    }),
    numberColumn("waiting", "Waiting, all ranks", ({ waiting_ns }) => known(waiting_ns, time), {
      sort: ({ waiting_ns }) => waiting_ns,
      help: answer.definitions["waiting"] ?? "",
      isMain: true,
    }),
    {
      key: "bar",
      head: "",
      width: 30,
      grow: 2,
      // Beside the figure that it draws, wherever that stands.
      isMain: true,
      cell: ({ waiting_ns }) =>
        waiting_ns === null ? null : (
          <span className="bar waiting-bar" aria-hidden="true">
            <i className="k comm" style={{ width: `${(waiting_ns / most) * 100}%` }} />
          </span>
        ),
    },
    numberColumn("transfer", "Transfer", ({ transfer_ns }) => known(transfer_ns, time), {
      sort: ({ transfer_ns }) => transfer_ns,
      help: answer.definitions["transfer"] ?? "",
    }),
    numberColumn("algorithm", "Algorithm", (one) => known(one.algorithm_gbs, speed), {
      unit: "GB/s",
      sort: (one) => one.algorithm_gbs,
      help: answer.definitions["algorithm"] ?? "",
    }),
    numberColumn("bus", "Bus", (one) => known(one.bus_gbs, speed), {
      unit: "GB/s",
      sort: (one) => one.bus_gbs,
      help: answer.definitions["bus"] ?? "",
    }),
    {
      key: "last",
      head: "Last",
      help: answer.definitions["last_one"] ?? "",
      width: 60,
      isMain: true,
      sort: (one) => one.last,
      cell: (one) => {
        const rank = one.last === null ? undefined : answer.ranks[one.last];
        return rank === undefined ? none : <LastRank name={rankName(rank)} tied={one.tied} />;
      },
    },
    ...(has(({ verdict }) => verdict !== "")
      ? [
          {
            key: "verdict",
            head: "Verdict",
            help: answer.definitions["verdict"] ?? "",
            width: 116,
            grow: 0,
            isMain: true,
            sort: (one: DistributedCollective) => one.verdict,
            cell: (one: DistributedCollective) => <span className="dim">{one.verdict}</span>,
          },
        ]
      : []),
  ];
  const sorted = useSorted(answer.table, columns, { key: "waiting", isDown: true });
  const isCut = answer.table.length < answer.count;
  const cut = isCut ? `the ${count(answer.table.length)} with most waiting of ` : "";
  return (
    <Panel
      title="Collectives"
      hint={`${cut}${plural(answer.count, "collective")} matched across ranks${answer.unmatched > 0 ? `; ${plural(answer.unmatched, "call")} without a counterpart` : ""}`}
      isOld={isOld}
      hasBody={false}
      controls={<CopyTable label="collectives" table={() => plainCollectives(answer.table)} />}
    >
      <FewRows rows={sorted.rows}>
        {(rows) => (
          <DataTable
            label="Collectives"
            columns={columns}
            {...sorted}
            rows={rows}
            keyOf={({ number }) => number}
            toPlain={plainCollectives}
            empty="No collective of the chosen steps is on two ranks."
            isOld={isOld}
          />
        )}
      </FewRows>
    </Panel>
  );
}

/** Calls of one rank, or of all, by operation. */
const plainOperations = plainTable<RankOperation>([
  "operation",
  "group",
  "calls",
  "alone",
  "total_bytes",
  "mean_bytes",
  "latency_ns",
  "mean_latency_ns",
  "transfer_ns",
  "mean_transfer_ns",
  "algorithm_gbs",
  "bus_gbs",
]);

interface OperationListProps {
  readonly rows: readonly RankOperation[];
  readonly answer: Distributed;
}

function OperationList({ rows, answer }: OperationListProps) {
  const help = (key: string) => ({ help: answer.definitions[key] ?? "" });
  const columns: readonly Column<RankOperation>[] = [
    {
      key: "operation",
      head: "Operation",
      help: "Calls of one operation and process group are one row.",
      width: 100,
      grow: 2,
      sort: (one) => one.operation,
      cell: (one) => harmless(one.operation),
    },
    ...(answer.groups.length > 1
      ? [
          {
            key: "group",
            head: "Group",
            help: "The process group that they run in.",
            width: 130,
            sort: (one: RankOperation) => one.group,
            cell: (one: RankOperation) => harmless(one.group, 40) || none,
          },
        ]
      : []),
    numberColumn(
      "calls",
      "Calls",
      (one) => (
        <span title={one.alone > 0 ? `${count(one.alone)} that no other recording has` : ""}>
          {count(one.calls)}
        </span>
      ),
      {
        sort: (one) => one.calls,
        help: "Calls in the chosen steps, of the chosen rank or of all.",
      },
    ),
    numberColumn("total", "Size", (one) => known(one.total_bytes, bytes), {
      sort: (one) => one.total_bytes,
      ...help("size"),
    }),
    numberColumn("mean", "Mean size", (one) => known(one.mean_bytes, bytes), {
      sort: (one) => one.mean_bytes,
      help: "Size by calls.",
    }),
    numberColumn("latency", "Latency", (one) => time(one.latency_ns), {
      sort: (one) => one.latency_ns,
      ...help("latency"),
    }),
    numberColumn("mean_latency", "Mean", (one) => time(one.mean_latency_ns), {
      sort: (one) => one.mean_latency_ns,
      help: "Latency by calls.",
    }),
    numberColumn("transfer", "Data transfer", (one) => known(one.transfer_ns, time), {
      sort: (one) => one.transfer_ns,
      ...help("transferring"),
    }),
    numberColumn("mean_transfer", "Mean", (one) => known(one.mean_transfer_ns, time), {
      sort: (one) => one.mean_transfer_ns,
      help: "Data transfer by calls.",
    }),
    numberColumn("algorithm", "Algorithm", (one) => known(one.algorithm_gbs, speed), {
      unit: "GB/s",
      sort: (one) => one.algorithm_gbs,
      ...help("algorithm"),
    }),
    numberColumn("bus", "Bus", (one) => known(one.bus_gbs, speed), {
      unit: "GB/s",
      sort: (one) => one.bus_gbs,
      ...help("bus"),
    }),
  ];
  const sorted = useSorted(rows, columns, { key: "latency", isDown: true });
  return (
    <FewRows rows={sorted.rows}>
      {(rows) => (
        <DataTable
          label="Communication operations"
          columns={columns}
          {...sorted}
          rows={rows}
          keyOf={({ operation, group }) => `${operation} ${group}`}
          toPlain={plainOperations}
          empty="This rank has no collective in the chosen steps."
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
            table={() => plainOperations(state.data?.rows ?? [])}
          />
        </>
      }
    >
      <Answered state={state}>
        {({ rows, reason }) => (
          <>
            <OperationList rows={rows} answer={answer} />
            {reason === "" ? null : (
              <p className="below ink2 small">
                <Prose text={reason} />
              </p>
            )}
          </>
        )}
      </Answered>
    </Panel>
  );
}
