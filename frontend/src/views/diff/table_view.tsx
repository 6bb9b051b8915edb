/** Operators, kernels or modules of both recordings: who takes more, and is it real? */
import type {
  DiffGroup,
  DiffMetric,
  DiffQuery,
  DiffRow,
  DiffTableQuery,
  KernelKey,
} from "../../api/types.gen";
import { plainTable } from "../../base/text/delimited";
import { change, DASH, fixed } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { SearchField } from "../../components/controls/search_field";
import { Segmented } from "../../components/controls/segmented";
import { PartTable } from "../../components/data_table/part_table";
import { type Column, numberColumn } from "../../components/data_table/table";
import { CodeName } from "../../components/text/code_name";
import { useAddress, useValues } from "../../state/host/environment";
import { amount, ChangeCell, CLAIMED, changed, isBytes, METRIC_WORDS, percent } from "./figures";
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
  same: "same",
  small: "too small",
  unsure: "inconclusive",
};
const DEFINITIONS: Readonly<Record<string, string>> = {
  name: "The name in A; after the arrow the one in B, found by its place.",
  base_calls: "Calls per step in A.",
  other_calls: "Calls per step in B.",
  bar: "The change, as long as it is beside the largest of these rows.",
  base: "Per step in A.",
  other: "Per step in B.",
  change: "B less A, per step.",
  ratio: "The change, of A.",
  by_calls: "What other numbers of calls make of the change, each as long as in A.",
  by_speed: "What longer or shorter calls, or larger and smaller ones, make of it. Both sum to it.",
  adjusted: "The change without what the clocks of the device alone explain.",
  device: "Change of the device time that it launched itself.",
  base_kernel: "The kernel of A that takes most of it.",
  other_kernel: "The kernel of B that takes most of it.",
  p: "Probability of such a change by noise alone (Welch, over the steps).",
  verdict:
    "Faster, slower, more, less: significant at q = 0.05, more than 1 % of the step, or of all bytes. Numbers of calls that repeat in every step are compared exactly.",
};

const toPlain = plainTable<DiffRow>([
  "name",
  "other_name",
  "relation",
  "detail",
  "base_calls",
  "other_calls",
  "base_ns",
  "other_ns",
  "change_ns",
  "ratio",
  "by_calls_ns",
  "by_speed_ns",
  "adjusted_ns",
  "device_change_ns",
  "base_kernel",
  "other_kernel",
  "status",
  "p",
]);

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

function columnsOf(rows: readonly DiffRow[], query: DiffTableQuery): readonly Column<DiffRow>[] {
  const metric = query.metric ?? "self_ns";
  const most = scaleOf(rows);
  const isByRole = query.group === "kernels" && query.kernels_by === "role";
  const words = amount(metric);
  const heads = {
    operators: "Operator",
    kernels: "Kernel",
    modules: "Module",
    memory: "Allocation site",
  } as const;
  const plain = (
    key: string,
    head: string,
    cell: Column<DiffRow>["cell"],
    more: Partial<Column<DiffRow>> = {},
  ): Column<DiffRow> => ({ key, head, cell, isNumeric: true, width: 72, ...more });
  return [
    {
      key: "name",
      head: heads[query.group ?? "operators"],
      sort: true,
      width: isByRole ? 300 : 180,
      grow: 4,
      cell: (row) => (
        <span className="diff-name">
          <CodeName name={row.name} />
          {row.other_name === "" ? null : (
            <>
              <span className="dim"> → </span>
              <CodeName name={row.other_name} />
            </>
          )}
          {row.detail === "" ? null : <span className="dim"> {harmless(row.detail, 80)}</span>}
        </span>
      ),
    },
    plain("base_calls", "Calls A", (row) => callsWords(row.base_calls)),
    plain("other_calls", "Calls B", (row) => callsWords(row.other_calls)),
    numberColumn("base", "A", (row) => words(row.base_ns), { width: 80 }),
    numberColumn("other", "B", (row) => words(row.other_ns), { width: 80 }),
    plain("bar", "Bar", (row) => <ChangeBar row={row} most={most} />, {
      width: 90,
      grow: 1.5,
      isNumeric: false,
      isCentered: true,
      isMain: true,
    }),
    numberColumn("change", "Change", (row) => <ChangeCell row={row} metric={metric} />, {
      width: 104,
      isMain: true,
    }),
    numberColumn("ratio", "%", (row) => percent(row.base_ns, row.other_ns), {
      width: 64,
      isMain: true,
    }),
    // What is held is no sum over calls, which another number of them or their size could explain.
    ...(metric === "peak_bytes"
      ? []
      : [
          plain("by_calls", "By calls", (row) => changed(row.by_calls_ns, metric), { width: 96 }),
          plain(
            "by_speed",
            isBytes(metric) ? "By size" : "By speed",
            (row) => changed(row.by_speed_ns, metric),
            { width: 96 },
          ),
        ]),
    ...(rows.some((row) => row.adjusted_ns !== null)
      ? [
          plain("adjusted", "Without clocks", (row) =>
            row.adjusted_ns === null ? DASH : change(row.adjusted_ns),
          ),
        ]
      : []),
    ...(query.group === "operators" && rows.some((row) => row.device_change_ns)
      ? [
          plain("device", "Device", (row) =>
            row.device_change_ns === null ? DASH : change(row.device_change_ns),
          ),
        ]
      : []),
    ...(rows.some((row) => row.base_kernel !== "" || row.other_kernel !== "")
      ? [
          plain("base_kernel", "Kernel A", (row) => kernelCell(row.base_kernel), {
            isNumeric: false,
            width: 150,
            grow: 2,
          }),
          plain("other_kernel", "Kernel B", (row) => kernelCell(row.other_kernel), {
            isNumeric: false,
            width: 150,
            grow: 2,
          }),
        ]
      : []),
    plain("p", "p", (row) => (row.p === null ? DASH : row.p < 0.001 ? "< 0.001" : fixed(row.p, 3))),
    plain(
      "verdict",
      "Verdict",
      (row) => (
        <span className={CLAIMED.has(row.status) ? "" : "dim"}>
          {row.relation === "" ? null : <span className="chip">{row.relation}</span>}{" "}
          {STATUS[row.status]}
        </span>
      ),
      { isNumeric: false, width: 120 },
    ),
  ];
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
      usualSorting={{ key: "change", isDown: true }}
      columns={(rows) => columnsOf(rows, asked)}
      definitions={DEFINITIONS}
      usuallyHidden="p"
      toPlain={toPlain}
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
      empty="Nothing of that name ran in either of them."
    />
  );
}
