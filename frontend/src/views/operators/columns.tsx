/** The columns of the operator table. */
import type { OperatorQuery, OperatorRow, Operators } from "../../api/types.gen";
import {
  count,
  DASH,
  flops,
  inScaleOrZero,
  type Scale,
  share,
  time,
  timeScale,
} from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { CellBar } from "../../components/charts/cell_bar";
import { type Column, numberColumn } from "../../components/data_table/table";
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
  if (ratio === null) {
    return (
      <span className="chip" title="Its own calls ran nothing on the device">
        eligible
      </span>
    );
  }
  const used = share(ratio, 0);
  return <span className="chip">{row.tensor_core_eligible ? `eligible · ${used}` : used}</span>;
}

function Name({ row }: { row: OperatorRow }) {
  return (
    <>
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

/** A column of times in one unit, which its head says. */
const inUnit = (
  key: string,
  head: string,
  scale: Scale,
  cell: Column<OperatorRow>["cell"],
  more: Partial<Column<OperatorRow>> = {},
) => numberColumn(key, head, cell, { unit: scale.unit.name, ...more });

const WITH_BAR = { width: 100, grow: 1.5 };

export function columnsOf(
  answer: Operators,
  scales: Scales,
  query: OperatorQuery,
): readonly Column<OperatorRow>[] {
  const hasDevice = answer.device_ns !== null;
  const isByName = query.group_by === "name";
  const { definitions } = answer;
  const device: readonly Column<OperatorRow>[] = [
    inUnit(
      "device_self_ns",
      "Device self",
      scales.device,
      (row) => (
        <CellBar value={row.device_self_ns ?? 0} most={scales.deviceMost} category="compute">
          {row.device_self_ns === null ? none : inScaleOrZero(row.device_self_ns, scales.device)}
        </CellBar>
      ),
      WITH_BAR,
    ),
    inUnit("device_total_ns", "Device total", scales.device, (row) =>
      row.device_total_ns === null ? none : inScaleOrZero(row.device_total_ns, scales.device),
    ),
  ];
  return [
    {
      key: "name",
      head: "Operator",
      sort: true,
      ...(isByName ? { width: 180, grow: 6 } : { width: 220, grow: 5 }),
      cell: (row) => <Name row={row} />,
    },
    numberColumn("calls", "Calls", (row) => count(row.calls)),
    ...(hasDevice ? device : []),
    inUnit(
      "self_ns",
      "Host self",
      scales.host,
      (row) => (
        <CellBar value={row.self_ns} most={scales.hostMost} category="cpu">
          {inScaleOrZero(row.self_ns, scales.host)}
        </CellBar>
      ),
      WITH_BAR,
    ),
    inUnit("total_ns", "Host total", scales.host, (row) =>
      inScaleOrZero(row.total_ns, scales.host),
    ),
    numberColumn("min_ns", "Min", (row) => time(row.min_ns)),
    numberColumn("mean_ns", "Mean", (row) => time(row.mean_ns)),
    numberColumn("p50_ns", "Median", (row) => time(row.p50_ns)),
    numberColumn("p95_ns", "p95", (row) => time(row.p95_ns)),
    numberColumn("max_ns", "Max", (row) => time(row.max_ns)),
    {
      key: "step_ratio",
      head: "Share of step",
      isNumeric: true,
      cell: (row) => (row.step_ratio === null ? none : share(row.step_ratio)),
    },
    ...(hasDevice
      ? [numberColumn<OperatorRow>("kernels", "Kernels", (row) => count(row.kernels ?? 0))]
      : []),
    ...(answer.has_flops
      ? [
          numberColumn<OperatorRow>(
            "flops",
            "FLOPs",
            (row) => (row.flops === null ? none : flops(row.flops)),
            {
              width: 84,
            },
          ),
        ]
      : []),
    ...(hasDevice
      ? [
          numberColumn<OperatorRow>(
            "tensor_core_self_ratio",
            answer.cores_name,
            (row) => <TensorCores row={row} />,
            {
              help: `${definitions["tensor_core_eligible"] ?? ""} ${definitions["tensor_core_self_ratio"] ?? ""}`,
              width: 116,
            },
          ),
        ]
      : []),
  ];
}
