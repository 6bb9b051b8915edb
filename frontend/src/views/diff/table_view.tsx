/** Operators, kernels or modules of both recordings: who takes more, and is it real? */
import type {
  DiffGroup,
  DiffMetric,
  DiffQuery,
  DiffRow,
  DiffTableQuery,
  KernelKey,
} from "../../api/types.gen";
import { change, DASH, fixed } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { SearchField } from "../../components/controls/search_field";
import { Segmented } from "../../components/controls/segmented";
import type { Cells } from "../../components/data_table/declared";
import { PartTable } from "../../components/data_table/part_table";
import type { Column } from "../../components/data_table/table";
import { CodeName } from "../../components/text/code_name";
import { useAddress, useValues } from "../../state/host/environment";
import { amount, ChangeCell, CLAIMED, changed, METRIC_WORDS, percent } from "./figures";
import { RowDetails } from "./row_details";

const STATUS: Readonly<Record<DiffRow["status"], string>> = {
  added: "added",
  removed: "removed",
  faster: "faster",
  slower: "slower",
  more: "more",
  less: "less",
  "more calls": "more calls",
  "fewer calls": "fewer calls",
  differs: "differs here",
  same: "same",
  small: "too small",
  unsure: "inconclusive",
};
/** A bar from the middle; what would leave the cell ends in a double edge. */
function ChangeBar({ row, most }: { row: DiffRow; most: number }) {
  const share = most > 0 ? Math.min(1, Math.abs(row.change_ns) / most) : 0;
  const isCut = Math.abs(row.change_ns) > most;
  const sign = !CLAIMED.has(row.status) ? "same" : row.change_ns < 0 ? "better" : "worse";
  const bar = (
    <i className={`${sign} ${isCut ? "cut" : ""}`} style={{ width: `${share * 100}%` }} />
  );
  return (
    <span className="diff-bar" aria-hidden="true">
      <span>{row.change_ns < 0 ? bar : null}</span>
      <span>{row.change_ns > 0 ? bar : null}</span>
    </span>
  );
}

/** The scale of the bars: the second largest change, if one is far beyond all others. */
function scaleOf(rows: readonly DiffRow[]): number {
  const sizes = rows.map(({ change_ns }) => Math.abs(change_ns)).sort((a, b) => b - a);
  const [first = 0, second = 0] = sizes;
  return second > 0 && first > 4 * second ? second : first;
}

function callsWords(value: number): string {
  return value === 0 ? DASH : Number.isInteger(value) ? fixed(value, 0) : fixed(value, 1);
}

/** The heaviest kernel of a side; a dash where it has none in this role. */
const kernelCell = (name: string) => (name === "" ? DASH : <CodeName name={name} />);

/** How the Diff view draws some columns of its rows, in the unit of a metric. */
export function cellsOf(
  rows: readonly DiffRow[],
  metric: string,
  isByRole = false,
): Cells<DiffRow> {
  const most = scaleOf(rows);
  const words = amount(metric);
  const figure = (cell: Column<DiffRow>["cell"], width: number) => ({ cell, width });
  return {
    name: {
      width: isByRole ? 300 : 180,
      grow: 4,
      cell: (row) => (
        <span className="diff-name">
          <CodeName name={row.name} short={row.short || row.name} />
          {row.other_name === "" ? null : (
            <>
              <span className="dim"> → </span>
              <CodeName name={row.other_name} short={row.other_short || row.other_name} />
            </>
          )}
          {row.detail === "" ? null : <span className="dim"> {harmless(row.detail, 80)}</span>}
        </span>
      ),
    },
    base_calls: figure((row) => callsWords(row.base_calls), 72),
    other_calls: figure((row) => callsWords(row.other_calls), 72),
    base_ns: figure((row) => words(row.base_ns), 80),
    other_ns: figure((row) => words(row.other_ns), 80),
    change_ns: {
      width: 200,
      grow: 1.5,
      isMain: true,
      cell: (row) => (
        <span className="diff-change">
          <ChangeBar row={row} most={most} />
          <ChangeCell row={row} metric={metric} />
        </span>
      ),
    },
    ratio: { ...figure((row) => percent(row.base_ns, row.other_ns), 64), isMain: true },
    by_calls_ns: figure((row) => changed(row.by_calls_ns, metric), 96),
    by_speed_ns: figure((row) => changed(row.by_speed_ns, metric), 96),
    adjusted_ns: figure((row) => (row.adjusted_ns === null ? DASH : change(row.adjusted_ns)), 72),
    device_change_ns: figure(
      (row) => (row.device_change_ns === null ? DASH : change(row.device_change_ns)),
      72,
    ),
    waste_change_ns: figure(
      (row) => (row.waste_change_ns === null ? DASH : change(row.waste_change_ns)),
      80,
    ),
    base_kernel: { width: 150, grow: 2, cell: (row) => kernelCell(row.base_kernel) },
    other_kernel: { width: 150, grow: 2, cell: (row) => kernelCell(row.other_kernel) },
    p: figure(({ p }) => (p === null ? DASH : p < 0.001 ? "< 0.001" : fixed(p, 3)), 72),
    status: {
      width: 120,
      cell: (row) => (
        <span className={CLAIMED.has(row.status) ? "" : "dim"}>
          {row.relation === "" ? null : <span className="chip">{row.relation}</span>}{" "}
          {STATUS[row.status]}
        </span>
      ),
    },
  };
}

const METRICS: Readonly<Record<DiffGroup, readonly DiffMetric[]>> = {
  operators: ["self_ns", "total_ns", "device_self_ns", "device_total_ns"],
  kernels: ["device_self_ns"],
  modules: ["device_self_ns", "self_ns", "bytes"],
  memory: ["bytes", "peak_bytes"],
};

const KERNEL_KEYS: readonly (readonly [KernelKey, string])[] = [
  ["name", "Name"],
  ["launch", "Launch size"],
  ["role", "Role"],
  ["family", "Family"],
];

interface ChangesProps {
  readonly query: DiffQuery;
  readonly group: DiffGroup;
  /** What kernels are matched by unless someone chooses. */
  readonly usualKey: KernelKey;
  readonly hasDevice: boolean;
  readonly modes: React.ReactNode;
}

export function Changes({ query, group, usualKey, hasDevice, modes }: ChangesProps) {
  const address = useAddress();
  const values = useValues();
  const known = METRICS[group].filter((one) => hasDevice || !one.startsWith("device"));
  const metric = known.find((one) => one === values["diff.metric"]) ?? known[0] ?? "self_ns";
  const isByShape = values["diff.shape"] === "1";
  const kernelsBy = KERNEL_KEYS.find(([key]) => key === values["diff.kernels"])?.[0] ?? usualKey;
  const asked: DiffTableQuery = {
    ...query,
    group,
    metric,
    by_shape: isByShape,
    kernels_by: kernelsBy,
    search: values["diff.search"] ?? "",
  };
  return (
    <PartTable
      part="diff/table"
      label="Changes"
      stem="diff"
      query={asked}
      keyOf={(row) => `${row.name} ${row.detail}`}
      usualSorting={{ key: "change_ns", isDown: true }}
      cells={(rows) => cellsOf(rows, metric, group === "kernels" && kernelsBy === "role")}
      filters={
        <>
          {modes}
          {known.length > 1 ? (
            <Segmented
              label={group === "memory" ? "Bytes" : "Figure"}
              options={known.map((one) => [one, METRIC_WORDS[one] ?? one] as const)}
              value={metric}
              onChange={(next) =>
                address.replace({ "diff.metric": next === known[0] ? undefined : next })
              }
            />
          ) : null}
          {group === "kernels" ? (
            <Segmented
              label="Matched by"
              options={KERNEL_KEYS}
              value={kernelsBy}
              onChange={(next) =>
                address.replace({ "diff.kernels": next === usualKey ? undefined : next })
              }
            />
          ) : null}
          {group === "operators" ? (
            <label className="row hint">
              <input
                type="checkbox"
                checked={isByShape}
                onChange={(event) =>
                  address.replace({ "diff.shape": event.target.checked ? "1" : undefined })
                }
              />
              By shapes
            </label>
          ) : null}
          <SearchField
            words="Filter by name"
            value={values["diff.search"] ?? ""}
            onChange={(text) => address.replace({ "diff.search": text === "" ? undefined : text })}
          />
        </>
      }
      detail={(row) => <RowDetails row={row} group={group} query={query} />}
      empty="No row has this name."
    />
  );
}
