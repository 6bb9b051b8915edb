/**
 * Columns that the server declares: key, heading, help, unit and default visibility come with the
 * answer. A view says only how it draws the cells of a few of them.
 */
import type { ReactNode } from "react";
import type { Column as Head } from "../../api/types.gen";
import type { Cell, PlainTable } from "../../base/text/delimited";
import {
  bytes,
  count,
  DASH,
  fixed,
  flops,
  inScale,
  NBSP,
  notZero,
  plural,
  share,
  time,
  timeScale,
} from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { CellBar } from "../charts/cell_bar";
import { CopyTable } from "../controls/copy_table";
import { FirstFew } from "../states/first_few";
import { PanelTools } from "../states/panel";
import { CodeName } from "../text/code_name";
import { Prose } from "../text/prose";
import { Heading } from "./heading";
import { type PerStep, perStepHeads, perStepRow, plainKey } from "./per_step";
import type { Column } from "./table";

/** How a view draws some columns, by their keys. */
export type Cells<R> = Readonly<Record<string, Partial<Column<R>>>>;

/** Texts of a cell longer than this are cut; the row's details have them whole. */
const LONGEST = 4000;

const valueIn = <R,>(row: R, key: string) => (row as Record<string, Cell | undefined>)[key] ?? null;

/** Energy in the unit that gives three digits. */
const joules = (value: number): string =>
  value === 0 || value >= 1 ? `${value.toPrecision(3)} J` : `${(value * 1000).toPrecision(3)} mJ`;

/** A figure in the unit of its column. */
export function figure(value: number, unit: Head["unit"]): string {
  switch (unit) {
    case "ns":
      return time(value);
    case "bytes":
      return bytes(value);
    case "bytes/s":
      return `${notZero(value / 1e9, value < 99.5e9 ? 1 : 0)}${NBSP}GB/s`;
    case "FLOP":
      return flops(value);
    case "ratio":
      return share(value);
    case "J":
      return joules(value);
    case "%":
    case "W":
    case "MHz":
      return `${fixed(value, 0)}${NBSP}${unit}`;
    default:
      return Number.isInteger(value) ? count(value) : fixed(value, 2);
  }
}

/** The cell of a column without a drawing of its own. */
function cellOf(value: Cell, head: Head): ReactNode {
  if (value === null || value === "") {
    return <span className="dim">{DASH}</span>;
  }
  switch (typeof value) {
    case "number":
      return figure(value, head.unit);
    case "boolean":
      return value ? "yes" : "no";
    default:
      return head.kind === "name" ? (
        <CodeName name={value} />
      ) : head.kind === "text" ? (
        <Prose text={harmless(value, LONGEST)} />
      ) : (
        harmless(value, LONGEST)
      );
  }
}

/** Optional columns are there if a row has a value. */
const isThere = <R,>({ key, is_optional }: Head, rows: readonly R[]): boolean =>
  !is_optional || rows.some((row) => valueIn(row, key) !== null);

export function declaredColumns<R>(
  heads: readonly Head[],
  rows: readonly R[],
  cells: Cells<R>,
): readonly Column<R>[] {
  return heads
    .filter((head) => isThere(head, rows))
    .map((head) => ({
      key: head.key,
      head: head.label,
      help: head.help,
      isNumeric: head.is_numeric,
      ...(head.is_sortable ? { sort: true as const } : {}),
      ...(head.kind === "name" ? { width: 120, grow: 2 } : {}),
      ...(head.is_numeric ? {} : { width: 80 }),
      cell: (row: R) => cellOf(valueIn(row, head.key), head),
      ...cells[head.key],
    }));
}

/** The help of a column, for a figure that stands elsewhere. */
export const helpOf = (heads: readonly Head[], key: string): string =>
  heads.find((head) => head.key === key)?.help ?? "";

/** Keys of the columns that are hidden until someone asks for them. */
export const hiddenByDefault = (heads: readonly Head[]): string =>
  heads
    .filter(({ is_minor }) => is_minor)
    .map(({ key }) => key)
    .join(",");

/** All columns of the rows as text, in base units; sums are divided by `steps` already. */
export const declaredToPlain =
  <R,>(heads: readonly Head[], steps = 1) =>
  (rows: readonly R[]): PlainTable => ({
    header: heads.map((head) => plainKey(head, steps)),
    rows: rows.map((row) => heads.map(({ key }) => valueIn(row, key))),
  });

/** The main column of a table of times: a bar of the largest, all in one unit. */
export function timeBar<R>(
  rows: readonly R[],
  key: keyof R,
  category = "compute",
): Partial<Column<R>> {
  const most = Math.max(0, ...rows.map((row) => Number(row[key])));
  const scale = timeScale(most);
  return {
    unit: scale.unit.name,
    width: 100,
    grow: 1.5,
    isMain: true,
    cell: (row) => (
      <CellBar value={Number(row[key])} most={most} category={category}>
        {inScale(Number(row[key]), scale)}
      </CellBar>
    ),
  };
}

interface DeclaredTableProps<R> {
  /** What it is called where it is copied and saved, "the steps". */
  readonly label: string;
  readonly heads: readonly Head[];
  readonly rows: readonly R[];
  /** How many there are; more than `rows` where the server sent the largest only. */
  readonly total?: number;
  /** Sums are shown as those of one step. */
  readonly perStep?: Pick<PerStep, "steps" | "unit">;
  /** How many rows are there at first. */
  readonly most?: number;
  readonly keyOf: (row: R) => string | number;
  readonly cells?: Readonly<Record<string, (row: R) => ReactNode>>;
}

/** Words and sentences wrap; what else is too long is cut. */
const cellClass = ({ is_numeric, kind }: Head): string =>
  is_numeric
    ? "num"
    : kind === "name"
      ? "name clip"
      : kind === "text"
        ? "text long"
        : kind === "words"
          ? "text"
          : "clip";

/** A short table: the first few rows and the columns that are no minor ones; a copy has them all. */
export function DeclaredTable<R>(props: DeclaredTableProps<R>) {
  const { label, total = 0, most, perStep, keyOf, cells = {} } = props;
  const steps = perStep?.steps ?? 1;
  const heads = perStepHeads(props.heads, perStep);
  const rows = props.rows.map((row) => perStepRow(row, props.heads, steps));
  const isCut = total > rows.length;
  const shown = heads.filter((head) => !head.is_minor && isThere(head, rows));
  return (
    <>
      {rows.length === 0 ? null : (
        <PanelTools>
          <CopyTable
            label={label}
            table={() => declaredToPlain<R>(heads, steps)(rows)}
            note={isCut ? `The first ${count(rows.length)} of ${plural(total, "row")}.` : ""}
          />
        </PanelTools>
      )}
      <FirstFew items={rows} total={total} {...(most === undefined ? {} : { most })}>
        {(few) => (
          <table className="plain">
            <thead>
              <tr>
                {shown.map(({ key, label, help, is_numeric }) => (
                  <Heading key={key} help={help} {...(is_numeric ? { className: "num" } : {})}>
                    {label}
                  </Heading>
                ))}
              </tr>
            </thead>
            <tbody>
              {few.map((row) => (
                <tr key={keyOf(row)}>
                  {shown.map((head) => (
                    <td key={head.key} className={cellClass(head)}>
                      {cells[head.key]?.(row) ?? cellOf(valueIn(row, head.key), head)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </FirstFew>
    </>
  );
}
