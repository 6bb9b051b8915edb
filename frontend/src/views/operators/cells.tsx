/** How the Operator view draws some of its columns. */
import type { OperatorQuery, OperatorRow } from "../../api/types.gen";
import { DASH, inScaleOrZero, type Scale, share, timeScale } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { CellBar } from "../../components/charts/cell_bar";
import type { Cells } from "../../components/data_table/declared";
import type { Column } from "../../components/data_table/table";
import { CodeName } from "../../components/text/code_name";

const none = <span className="dim">{DASH}</span>;

function TensorCores({ row }: { row: OperatorRow }) {
  const ratio = row.tensor_core_self_ratio;
  if (!row.tensor_core_eligible && (ratio === null || ratio === 0)) {
    return none;
  }
  if (ratio === null) {
    return (
      <span className="chip" title="No device self time">
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

type TimeKey = "self_ns" | "total_ns" | "device_self_ns" | "device_total_ns";

/** Times in the unit that their head says; `most`: with a bar of the largest. */
function timeCell(key: TimeKey, scale: Scale, most?: number): Partial<Column<OperatorRow>> {
  const words = (row: OperatorRow) => {
    const ns = row[key];
    return ns === null ? none : inScaleOrZero(ns, scale);
  };
  if (most === undefined) {
    return { unit: scale.unit.name, cell: words };
  }
  const category = key === "self_ns" ? "cpu" : "compute";
  return {
    unit: scale.unit.name,
    width: 100,
    grow: 1.5,
    cell: (row) => (
      <CellBar value={row[key] ?? 0} most={most} category={category}>
        {words(row)}
      </CellBar>
    ),
  };
}

export function cellsOf(rows: readonly OperatorRow[], query: OperatorQuery): Cells<OperatorRow> {
  const most = (key: TimeKey) => Math.max(0, ...rows.map((row) => row[key] ?? 0));
  const host = timeScale(most("total_ns"));
  const device = timeScale(most("device_total_ns"));
  return {
    name: {
      ...(query.group_by === "name" ? { width: 180, grow: 6 } : { width: 220, grow: 5 }),
      cell: (row) => <Name row={row} />,
    },
    device_self_ns: timeCell("device_self_ns", device, most("device_self_ns")),
    device_total_ns: timeCell("device_total_ns", device),
    self_ns: timeCell("self_ns", host, most("self_ns")),
    total_ns: timeCell("total_ns", host),
    flops: { width: 84 },
    tensor_core_self_ratio: { width: 116, cell: (row) => <TensorCores row={row} /> },
  };
}
