/** The columns of the kernel table. */
import type { ReactNode } from "react";
import type { KernelQuery, KernelRow, Kernels } from "../../api/types.gen";
import { bytes, count, DASH, fixed, inScale, share, time, timeScale } from "../../base/text/format";
import { CellBar } from "../../components/charts/cell_bar";
import type { WindowColumn } from "../../components/data_table/table";
import { CodeName } from "../../components/text/code_name";

const none = <span className="dim">{DASH}</span>;
function known<Value>(value: Value | null, words: (value: Value) => ReactNode): ReactNode {
  return value === null ? none : words(value);
}

const CORES = { yes: "yes", no: "no", unknown: "unknown", none: DASH } as const;

/** `[16,7,32]` → `16×7×32`. */
export const launchWords = (text: string | null): string =>
  text === null ? DASH : text.replace(/[[\]\s]/g, "").replaceAll(",", "×");

type Column = WindowColumn<KernelRow>;

export function columnsOf(
  answer: Kernels,
  rows: readonly KernelRow[],
  query: KernelQuery,
): readonly Column[] {
  const most = Math.max(0, ...rows.map((row) => row.total_ns));
  const scale = timeScale(most);
  const number = (
    key: string,
    label: string,
    cell: Column["cell"],
    more: Partial<Column> = {},
  ) => ({
    key,
    label,
    help: answer.definitions[key] ?? "",
    isNumber: true,
    isSortable: true,
    width: "minmax(64px, 1fr)",
    cell,
    ...more,
  });
  const has = (field: keyof KernelRow) => rows.some((row) => row[field] !== null);
  const isByProperties = query.group_by === "properties";
  const plain = (
    key: keyof KernelRow & string,
    label: string,
    words: (row: KernelRow) => ReactNode,
  ): Column => ({
    key,
    label,
    help: answer.definitions[key] ?? "",
    width: "minmax(80px, 1fr)",
    cell: words,
  });
  return [
    {
      key: "name",
      label: query.group_by === "class" ? "Class" : "Kernel",
      isSortable: true,
      width: "minmax(170px, 4fr)",
      cell: (row) => (
        <>
          <span className="wt-mark" aria-hidden="true" />
          <CodeName name={row.name} />
        </>
      ),
    },
    ...(isByProperties
      ? [
          plain("op", "Operator", (row) => (row.op === null ? none : <CodeName name={row.op} />)),
          plain("grid", "Grid", (row) => launchWords(row.grid)),
          plain("block", "Block", (row) => launchWords(row.block)),
          plain("op_eligible", "Op eligible", (row) =>
            known(row.op_eligible, (isEligible) => (isEligible ? "yes" : "no")),
          ),
        ]
      : query.group_by === "class"
        ? []
        : [
            plain("kernel_class", "Class", (row) => (
              <span title={row.class_why}>{row.kernel_class}</span>
            )),
          ]),
    number("calls", "Calls", (row) => count(row.calls)),
    number(
      "total_ns",
      "Total",
      (row) => (
        <CellBar value={row.total_ns} most={most} category="compute">
          {inScale(row.total_ns, scale)}
        </CellBar>
      ),
      { unit: scale.unit.name, width: "minmax(100px, 1.5fr)" },
    ),
    number("ratio", "Share", (row) => share(row.ratio)),
    number("mean_ns", "Mean", (row) => time(row.mean_ns)),
    number("min_ns", "Min", (row) => time(row.min_ns), { isMinor: true }),
    number("p50_ns", "Median", (row) => time(row.p50_ns), { isMinor: true }),
    number("p95_ns", "p95", (row) => time(row.p95_ns), { isMinor: true }),
    number("max_ns", "Max", (row) => time(row.max_ns), { isMinor: true }),
    ...(has("blocks_per_sm")
      ? [
          number("blocks_per_sm", "Blocks per SM", (row) =>
            known(row.blocks_per_sm, (v) => fixed(v, 2)),
          ),
        ]
      : []),
    ...(has("occupancy")
      ? [
          number("occupancy", "Est. occupancy", (row) =>
            known(row.occupancy, (v) => `${fixed(v, 0)} %`),
          ),
        ]
      : []),
    ...(isByProperties
      ? [
          {
            ...number("registers", "Registers", (row: KernelRow) => known(row.registers, count)),
            isSortable: false,
          },
          {
            ...number("shared_bytes", "Shared", (row: KernelRow) => known(row.shared_bytes, bytes)),
            isSortable: false,
          },
        ]
      : []),
    ...(has("launch_ns")
      ? [number("launch_ns", "Launch", (row) => known(row.launch_ns, time), { isMinor: true })]
      : []),
    ...(has("queue_ns")
      ? [number("queue_ns", "Queue", (row) => known(row.queue_ns, time), { isMinor: true })]
      : []),
    plain("tensor_core", "Tensor cores", (row) =>
      row.tensor_core === "yes" ? (
        <span className="chip">yes</span>
      ) : (
        <span className="dim">{CORES[row.tensor_core]}</span>
      ),
    ),
  ];
}
