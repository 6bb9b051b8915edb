/** What the counters of the device say: energy, clocks and traffic, by part of the step and by step. */
import type { MeasuredCell, MeasuredColumn, MeasuredRow, Overview } from "../../api/types.gen";
import type { PlainTable } from "../../base/text/delimited";
import { bytes, count, DASH, fixed, NBSP, share, time } from "../../base/text/format";
import { Swatch } from "../../components/charts/category";
import { CopyTable } from "../../components/controls/copy_table";
import { Segmented } from "../../components/controls/segmented";
import { useSorted } from "../../components/data_table/rows";
import { type Column, DataTable, numberColumn } from "../../components/data_table/table";
import { Tip } from "../../components/overlays/tip";
import { Panel } from "../../components/states/panel";
import { Prose } from "../../components/text/prose";
import { useAddress, useValues } from "../../state/host/environment";

/** A counter's value with three or more digits; its unit stands in the head, but for bytes. */
export function measuredWords(value: number, unit: string): string {
  if (unit.startsWith("B")) {
    return `${bytes(value)}${unit.slice(1)}`;
  }
  const size = Math.abs(value);
  if (size >= 100) {
    return count(Math.round(value));
  }
  return size === 0 || size >= 0.01 ? fixed(value, decimalsOf(size)) : smallWords(value, unit);
}

function decimalsOf(size: number): number {
  const decimals = size < 1 ? 3 : size < 10 ? 2 : 1;
  return size === 0 ? 0 : decimals;
}

const smallWords = (value: number, unit: string) =>
  unit === "J" ? `${(value * 1000).toPrecision(3)}${NBSP}mJ` : value.toPrecision(2);

const unitInHead = (unit: string) => (unit === "" || unit.startsWith("B") ? undefined : unit);

function Value({ cell, unit }: { cell: MeasuredCell | null; unit: string }) {
  if (cell === null) {
    return null;
  }
  if (cell.value === null) {
    const reason = `Samples cover ${share(cell.covered)} of it: too little for a figure.`;
    return (
      <Tip text={reason} className="dim">
        {DASH}
        <span className="unseen">not available: {reason}</span>
      </Tip>
    );
  }
  const isPart = cell.covered < 0.9995;
  return (
    <span title={isPart ? `Samples cover ${share(cell.covered)} of it.` : undefined}>
      {measuredWords(cell.value, unit)}
      {isPart ? "*" : ""}
    </span>
  );
}

function columnsOf(
  heads: readonly MeasuredColumn[],
  first: string,
): readonly Column<MeasuredRow>[] {
  return [
    {
      key: "label",
      head: first,
      help: "The device work, or the cause of its waiting.",
      width: 190,
      grow: 2,
      cell: (row) =>
        row.category === "" ? (
          row.label
        ) : (
          <span className="row">
            <Swatch category={row.category} ghost={row.ghost} />
            {row.label}
          </span>
        ),
    },
    numberColumn("ns", "Length", (row) => time(row.ns), {
      sort: (row) => row.ns,
      help: "Its time in the chosen steps.",
    }),
    ...heads.map(({ key, label, unit, help }, place) => {
      const inHead = unitInHead(unit);
      return numberColumn<MeasuredRow>(
        key,
        label,
        (row) => <Value cell={row.cells[place] ?? null} unit={unit} />,
        {
          help,
          sort: (row) => row.cells[place]?.value ?? null,
          width: 76,
          ...(inHead === undefined ? {} : { unit: inHead }),
        },
      );
    }),
  ];
}

export const measuredTable = (
  heads: readonly MeasuredColumn[],
  first: string,
  rows: readonly MeasuredRow[],
): PlainTable => ({
  header: [
    first.toLowerCase(),
    "ns",
    ...heads.map(({ key, unit }) => (unit === "" ? key : `${key} (${unit})`)),
  ],
  rows: rows.map(({ label, ns, cells }) => [
    label,
    ns,
    ...cells.map((cell) => cell?.value ?? null),
  ]),
});

interface TableProps {
  readonly heads: readonly MeasuredColumn[];
  readonly first: string;
  readonly rows: readonly MeasuredRow[];
  readonly isOld: boolean;
}

function MeasuredTable({ heads, first, rows, isOld }: TableProps) {
  const columns = columnsOf(heads, first);
  const sorted = useSorted(rows, columns, null);
  return (
    <DataTable
      label={`Measured, by ${first.toLowerCase()}`}
      columns={columns}
      {...sorted}
      keyOf={(row) => row.key}
      toPlain={(some) => measuredTable(heads, first, some)}
      isOld={isOld}
      empty="No step was chosen."
    />
  );
}

export function MeasuredFigures({ overview, isOld }: { overview: Overview; isOld: boolean }) {
  const address = useAddress();
  const isBySteps = useValues()["overview.measured"] === "steps" && overview.noun !== "recording";
  const { measured, devices, device_row } = overview;
  if (measured === null) {
    return null;
  }
  const device = devices.find(({ row }) => row === device_row);
  const [first, rows] = isBySteps ? ["Step", measured.steps] : ["Part", measured.parts];
  return (
    <Panel
      title={device === undefined ? "Measured" : `Measured on ${device.type} ${device.index}`}
      hint={measured.sampled}
      isOld={isOld}
      hasBody={false}
      className="measured"
      controls={
        <>
          <CopyTable
            label="what was measured"
            table={() => measuredTable(measured.columns, first, rows)}
          />
          {overview.noun === "recording" ? null : (
            <Segmented
              label="Of what"
              value={isBySteps ? "steps" : "parts"}
              options={[
                ["parts", "Mean step"],
                ["steps", "Every step"],
              ]}
              onChange={(next) =>
                address.replace({ "overview.measured": next === "steps" ? next : undefined })
              }
            />
          )}
        </>
      }
    >
      <MeasuredTable key={first} heads={measured.columns} first={first} rows={rows} isOld={isOld} />
      {measured.notes.map((note) => (
        <p key={note} className="measured-note ink2 small">
          <Prose text={note} />
        </p>
      ))}
    </Panel>
  );
}
