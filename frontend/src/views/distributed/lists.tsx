/** Devices, collectives, operations: the tables of the view. */
import { type ReactNode, useEffect, useMemo, useState } from "react";
import type {
  Distributed,
  DistributedCollective,
  DistributedRank,
  RankOperation,
} from "../../api/types.gen";
import { plainTable } from "../../base/text/delimited";
import { bytes, count, DASH, plural, share, time } from "../../base/text/format";
import { textWidth } from "../../base/measure";
import { harmless } from "../../base/text/shown_name";
import { CopyTable } from "../../components/controls/copy_table";
import { Select } from "../../components/controls/select";
import { useSorted } from "../../components/data_table/rows";
import { type Column, DataTable, numberColumn } from "../../components/data_table/table";
import { Answered } from "../../components/states/answered";
import { FirstFew } from "../../components/states/first_few";
import { Panel } from "../../components/states/panel";
import { EndName } from "../../components/text/code_name";
import { Prose } from "../../components/text/prose";
import { useValues } from "../../state/host/environment";
import { useAsked, usePart } from "../../state/parts";
import { speed } from "./bandwidth";
import { isMeant, rankName } from "./rank_names";

/** Rows of a long table that stand there at first; the others a button shows. */
const MOST_ROWS = 12;
const MOST_RANKS = 32;
const MOST_STATE = 260;
const STATE_FONT = '12px system-ui, "Segoe UI", Roboto, "Liberation Sans", sans-serif';

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
const known = <V,>(value: V | null, words: (value: V) => string) =>
  value === null ? none : words(value);

/** Node → process → device, and what each rank did with its step. */
const plainRanks = plainTable<DistributedRank>([
  "worker",
  "rank",
  "node",
  "process",
  "role",
  "device",
  "device_index",
  "memory_bytes",
  "capability",
  "own_ns",
  "excess_ns",
  "cost_ns",
  "inherited_ns",
  "lost_ns",
  "times_last",
  "brought_in_ns",
  "gain_ns",
  "received_bytes",
  "problem",
]);

/** Where lateness that a rank inherited is known, and there is some. */
function inheritedColumn(answer: Distributed): Column<DistributedRank>[] {
  if (answer.ranks.every(({ inherited_ns }) => (inherited_ns ?? 0) === 0)) {
    return [];
  }
  const cell = ({ inherited_ns, inherited_from }: DistributedRank) => {
    const from = inherited_from === null ? undefined : answer.ranks[inherited_from];
    return (
      <span title={from === undefined ? "" : `most of it from ${rankName(from)}`}>
        {known(inherited_ns, time)}
      </span>
    );
  };
  return [
    numberColumn("inherited", "Inherited", cell, {
      sort: ({ inherited_ns }) => inherited_ns,
      help: answer.definitions["inherited"] ?? "",
    }),
  ];
}

/** Where parts of exchanges are told. */
function receivedColumn(answer: Distributed): Column<DistributedRank>[] {
  if (answer.ranks.every(({ received_bytes }) => received_bytes === null)) {
    return [];
  }
  return [
    numberColumn("received", "Received", (one) => known(one.received_bytes, bytes), {
      sort: (one) => one.received_bytes,
      help: answer.definitions["received"] ?? "",
    }),
  ];
}

/** What must be known of a recording, where there is something: whole, while there is room for it. */
function stateColumn(answer: Distributed): Column<DistributedRank>[] {
  const longest = Math.max(...answer.ranks.map(({ problem }) => textWidth(problem, STATE_FONT)));
  if (answer.ranks.every(({ problem }) => problem === "")) {
    return [];
  }
  return [
    {
      key: "problem",
      head: "State",
      help: "Why the recording of this rank takes no part in the comparison, or what else must be known of it.",
      width: Math.min(MOST_STATE, Math.ceil(longest) + 2),
      isMain: true,
      sort: ({ problem }) => problem,
      cell: ({ problem }) => (
        <span className="warn-text" title={problem}>
          {problem}
        </span>
      ),
    },
  ];
}

/** What each rank did with its step; nothing before the first comparison. */
function figureColumns(answer: Distributed): Column<DistributedRank>[] {
  return [
    numberColumn(
      "busy",
      "Busy",
      ({ step }) => known(step, (one) => share(1 - one.idle_ns / Math.max(1, one.length_ns), 0)),
      { sort: ({ step }) => (step === null ? null : 1 - step.idle_ns / step.length_ns) },
    ),
    numberColumn("own", "Own time", ({ own_ns }) => known(own_ns, time), {
      sort: ({ own_ns }) => own_ns,
      help: answer.definitions["own"] ?? "",
    }),
    numberColumn("excess", "Beyond peers", ({ excess_ns }) => known(excess_ns, time), {
      sort: ({ excess_ns }) => excess_ns,
      help: answer.definitions["excess"] ?? "",
    }),
    numberColumn("cost", "Cost others", ({ cost_ns }) => known(cost_ns, time), {
      sort: ({ cost_ns }) => cost_ns,
      help: answer.definitions["cost"] ?? "",
    }),
    ...inheritedColumn(answer),
    numberColumn("last", "Last", ({ times_last }) => known(times_last, count), {
      sort: ({ times_last }) => times_last,
      help: answer.definitions["last"] ?? "",
    }),
    numberColumn("brought_in", "Brought in", ({ brought_in_ns }) => known(brought_in_ns, time), {
      sort: ({ brought_in_ns }) => brought_in_ns,
      help: answer.definitions["brought_in"] ?? "",
    }),
  ];
}

export function Ranks({ answer, isOld }: { answer: Distributed; isOld: boolean }) {
  const some = (has: (rank: DistributedRank) => boolean) => answer.ranks.some(has);
  const columns: readonly Column<DistributedRank>[] = [
    {
      key: "rank",
      head: "Rank",
      width: 64,
      grow: 0,
      sort: ({ rank }) => rank,
      cell: ({ rank }) => known(rank, String),
    },
    {
      key: "node",
      head: "Node",
      grow: 1,
      sort: ({ node }) => node,
      help: answer.definitions["node"] ?? "",
      cell: ({ node }) =>
        node === "" ? (
          <span className="dim" title="The recording names no host, nor does the worker's name.">
            {DASH}
          </span>
        ) : (
          <EndName name={node} />
        ),
    },
    ...(some(({ process }) => process !== "")
      ? [
          {
            key: "process",
            head: "Process",
            sort: (one: DistributedRank) => (one.process === "" ? null : Number(one.process)),
            help: answer.definitions["process"] ?? "",
            cell: (one: DistributedRank) => harmless(one.process) || none,
          },
        ]
      : []),
    {
      key: "worker",
      head: "Worker",
      width: 90,
      grow: 2,
      sort: ({ worker }) => worker,
      cell: ({ worker }) => <EndName name={worker} />,
    },
    ...stateColumn(answer),
    ...(some(({ role }) => role !== "")
      ? [
          {
            key: "role",
            head: "Role",
            sort: (one: DistributedRank) => one.role,
            cell: (one: DistributedRank) => one.role || none,
          },
        ]
      : []),
    {
      key: "device",
      head: "Device",
      width: 90,
      grow: 2,
      sort: ({ device }) => device,
      cell: ({ device, device_index, capability }) => (
        <span title={capability === "" ? "" : `compute capability ${capability}`}>
          {device === "" ? none : harmless(device)}
          {device_index === "" ? null : <span className="dim"> {device_index}</span>}
        </span>
      ),
    },
    numberColumn("memory", "Memory", ({ memory_bytes }) => known(memory_bytes, bytes), {
      sort: ({ memory_bytes }) => memory_bytes,
      width: 70,
    }),
    ...(some(({ used }) => used) ? figureColumns(answer) : []),
    ...receivedColumn(answer),
  ];
  const find = useValues()["distributed.find"] ?? "";
  const meant = useMemo(
    () => (find === "" ? answer.ranks : answer.ranks.filter((one) => isMeant(one, find))),
    [answer.ranks, find],
  );
  const sorted = useSorted(meant, columns, null);
  const all = plural(answer.ranks.length, "worker");
  return (
    <Panel
      title="Devices and ranks"
      hint={find === "" ? all : `${count(meant.length)} of ${all} for “${harmless(find, 40)}”`}
      isOld={isOld}
      hasBody={false}
      className="ranks-panel"
      controls={<CopyTable label="ranks" table={() => plainRanks(answer.ranks)} />}
    >
      <FewRows rows={sorted.rows} most={MOST_RANKS}>
        {(rows) => (
          <DataTable
            label="Devices and ranks"
            columns={columns}
            {...sorted}
            rows={rows}
            keyOf={({ worker }) => worker}
            toPlain={plainRanks}
            empty={find === "" ? "No rank." : "No such rank or node."}
            isOld={isOld}
          />
        )}
      </FewRows>
    </Panel>
  );
}

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
      cell: ({ waiting_ns }) => (
        <span className="bar waiting-bar" aria-hidden="true">
          <i className="k comm" style={{ width: `${((waiting_ns ?? 0) / most) * 100}%` }} />
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
      { sort: (one) => one.calls },
    ),
    numberColumn("total", "Size", (one) => known(one.total_bytes, bytes), {
      sort: (one) => one.total_bytes,
      ...help("size"),
    }),
    numberColumn("mean", "Mean size", (one) => known(one.mean_bytes, bytes), {
      sort: (one) => one.mean_bytes,
    }),
    numberColumn("latency", "Latency", (one) => time(one.latency_ns), {
      sort: (one) => one.latency_ns,
      ...help("latency"),
    }),
    numberColumn("mean_latency", "Mean", (one) => time(one.mean_latency_ns), {
      sort: (one) => one.mean_latency_ns,
    }),
    numberColumn("transfer", "Data transfer", (one) => known(one.transfer_ns, time), {
      sort: (one) => one.transfer_ns,
      ...help("transferring"),
    }),
    numberColumn("mean_transfer", "Mean", (one) => known(one.mean_transfer_ns, time), {
      sort: (one) => one.mean_transfer_ns,
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
