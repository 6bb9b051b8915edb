/** Copies the table: every row that matches, in base units. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { OperatorQuery, OperatorRow } from "../../api/types.gen";
import { type PlainTable, toCsv } from "../../base/delimited";
import { CopyTable } from "../../components/copy_table";
import { type Asked, askPart } from "../../state/parts";

const MOST_ROWS = 1000;
const FIELDS = [
  "name",
  "kind",
  "detail",
  "calls",
  "device_self_ns",
  "device_total_ns",
  "self_ns",
  "total_ns",
  "min_ns",
  "mean_ns",
  "p50_ns",
  "p95_ns",
  "max_ns",
  "kernels",
  "flops",
  "step_ratio",
  "tensor_core_self_ratio",
] as const;

export const plainRows = (rows: readonly OperatorRow[]): PlainTable => ({
  header: FIELDS,
  rows: rows.map((row) => FIELDS.map((field) => row[field])),
});

/** Fetched when the pointer or the focus comes near, so that copying is at once. */
export function TakeAway({ asked, query }: { asked: Asked; query: OperatorQuery }) {
  const client = useQueryClient();
  const [rows, setRows] = useState<readonly OperatorRow[]>([]);
  const prepare = () => {
    askPart(client, "operators/table", asked, { ...query, offset: 0, limit: MOST_ROWS }).then(
      (table) => setRows(table.rows),
      () => setRows([]),
    );
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: only fetches ahead
    <span onMouseEnter={prepare} onFocus={prepare}>
      <CopyTable label="operators" table={() => plainRows(rows)} />
    </span>
  );
}

export const csvOf = (rows: readonly OperatorRow[]): string => toCsv(plainRows(rows));
