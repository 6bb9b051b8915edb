/** The kernel table as text, in base units. */
import type { KernelRow } from "../../api/types.gen";
import type { PlainTable } from "../../base/delimited";

const FIELDS = [
  "name",
  "kernel_class",
  "op",
  "op_eligible",
  "grid",
  "block",
  "registers",
  "shared_bytes",
  "calls",
  "total_ns",
  "min_ns",
  "mean_ns",
  "p50_ns",
  "p95_ns",
  "max_ns",
  "ratio",
  "tensor_core",
  "blocks_per_sm",
  "occupancy",
  "launch_ns",
  "queue_ns",
] as const;

export const plainRows = (rows: readonly KernelRow[]): PlainTable => ({
  header: FIELDS,
  rows: rows.map((row) => FIELDS.map((field) => row[field])),
});
