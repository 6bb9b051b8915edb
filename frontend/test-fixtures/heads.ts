import type { Column } from "../src/api/types.gen";

/** The head of a column, as answers carry it. */
export const headOf = (key: string, label: string, more: Partial<Column> = {}): Column => ({
  key,
  label,
  help: "",
  kind: "value",
  is_minor: false,
  is_numeric: false,
  is_sortable: more.is_numeric ?? false,
  is_optional: false,
  unit: "",
  is_sum: false,
  ...more,
});
