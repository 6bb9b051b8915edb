/** The columns of the operator table. */
import type { OperatorQuery, OperatorRow, Operators } from "../../api/types.gen";
import { count, DASH, inScale, type Scale, share, time, timeScale } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { CellBar } from "../../components/charts/cell_bar";
import type { WindowColumn } from "../../components/data_table/table";
import { CodeName } from "../../components/text/code_name";

/** One unit per column of times that are read together, and the lengths of the bars. */
export interface Scales {
  readonly host: Scale;
  readonly device: Scale;
  readonly hostMost: number;
  readonly deviceMost: number;
}

export function scalesOf(rows: readonly OperatorRow[]): Scales {
  const most = (values: readonly number[]) => Math.max(0, ...values);
  return {
    host: timeScale(most(rows.map((row) => row.total_ns))),
    device: timeScale(most(rows.map((row) => row.device_total_ns ?? 0))),
    hostMost: most(rows.map((row) => row.self_ns)),
    deviceMost: most(rows.map((row) => row.device_self_ns ?? 0)),
  };
}

const none = <span className="dim">{DASH}</span>;

function TensorCores({ row }: { row: OperatorRow }) {
  const ratio = row.tensor_core_self_ratio;
  if (!row.tensor_core_eligible && (ratio === null || ratio === 0)) {
    return none;
  }
  const used = ratio === null ? "no device time" : share(ratio, 0);
  return <span className="chip">{row.tensor_core_eligible ? `eligible · ${used}` : used}</span>;
}

function Name({ row }: { row: OperatorRow }) {
  return (
    <>
      <span className="wt-mark" aria-hidden="true" />
      <CodeName name={row.name} />
      {row.detail === "" ? null : (
        <bdi className="detail" title={harmless(row.detail, 1500)}>
          {harmless(row.detail.split("\n")[0] ?? "")}
        </bdi>
      )}
      {row.kind === "op" ? null : <span className="chip hollow">{row.kind}</span>}
    </>
  );
}

/** FLOPs in the unit that people say: 2.1 TFLOP. */
export function flops(value: number): string {
  for (const [unit, size] of [
    ["P", 1e15],
    ["T", 1e12],
    ["G", 1e9],
    ["M", 1e6],
  ] as const) {
    if (value >= size) {
      return `${(value / size).toPrecision(3)} ${unit}FLOP`;
    }
  }
  return `${count(value)} FLOP`;
}

type Column = WindowColumn<OperatorRow>;

export function columnsOf(
  answer: Operators,
  scales: Scales,
  query: OperatorQuery,
): readonly Column[] {
  const help = (key: string) => answer.definitions[key] ?? "";
  const number = (
    key: string,
    label: string,
    cell: (row: OperatorRow) => React.ReactNode,
    more: Partial<Column> = {},
  ): Column => ({
    key,
    label,
    help: help(key),
    isNumber: true,
    isSortable: true,
    width: "minmax(60px, 1fr)",
    cell,
    ...more,
  });
  const hasDevice = answer.device_ns !== null;
  const wide = query.group_by === "name" ? "minmax(180px, 3.6fr)" : "minmax(220px, 5fr)";
  const device: readonly Column[] = [
    number(
      "device_self_ns",
      "Device self",
      (row) => (
        <CellBar value={row.device_self_ns ?? 0} most={scales.deviceMost} category="compute">
          {row.device_self_ns === null ? none : inScale(row.device_self_ns, scales.device)}
        </CellBar>
      ),
      { unit: scales.device.unit.name, width: "minmax(100px, 1.5fr)" },
    ),
    number(
      "device_total_ns",
      "Device total",
      (row) => (row.device_total_ns === null ? none : inScale(row.device_total_ns, scales.device)),
      { unit: scales.device.unit.name },
    ),
  ];
  return [
    {
      key: "name",
      label: "Operator",
      isSortable: true,
      width: wide,
      cell: (row) => <Name row={row} />,
    },
    number("calls", "Calls", (row) => count(row.calls)),
    ...(hasDevice ? device : []),
    number(
      "self_ns",
      "Host self",
      (row) => (
        <CellBar value={row.self_ns} most={scales.hostMost} category="cpu">
          {inScale(row.self_ns, scales.host)}
        </CellBar>
      ),
      { unit: scales.host.unit.name, width: "minmax(100px, 1.5fr)" },
    ),
    number("total_ns", "Host total", (row) => inScale(row.total_ns, scales.host), {
      unit: scales.host.unit.name,
    }),
    number("min_ns", "Min", (row) => time(row.min_ns), { isMinor: true }),
    number("mean_ns", "Mean", (row) => time(row.mean_ns), { isMinor: true }),
    number("p50_ns", "Median", (row) => time(row.p50_ns), { isMinor: true }),
    number("p95_ns", "p95", (row) => time(row.p95_ns), { isMinor: true }),
    number("max_ns", "Max", (row) => time(row.max_ns), { isMinor: true }),
    {
      ...number("step_ratio", "Share of step", (row) =>
        row.step_ratio === null ? none : share(row.step_ratio),
      ),
      isSortable: false,
    },
    ...(hasDevice ? [number("kernels", "Kernels", (row) => count(row.kernels ?? 0))] : []),
    ...(answer.has_flops
      ? [
          number("flops", "FLOPs", (row) => (row.flops === null ? none : flops(row.flops)), {
            width: "minmax(84px, 1fr)",
          }),
        ]
      : []),
    ...(hasDevice
      ? [
          {
            key: "tensor_core_self_ratio",
            label: "Tensor cores",
            help: `${help("tensor_core_eligible")} ${help("tensor_core_self_ratio")}`,
            isSortable: true,
            isMinor: true,
            width: "minmax(116px, 1fr)",
            cell: (row: OperatorRow) => <TensorCores row={row} />,
          },
        ]
      : []),
  ];
}
