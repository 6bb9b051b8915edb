import { useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { toProblem } from "../../api/problem";
import type { KernelGroupBy, KernelQuery, KernelRow, Kernels } from "../../api/types.gen";
import type { PlainTable } from "../../base/text/delimited";
import { CopyRows } from "../../components/controls/copy_table";
import { SearchField } from "../../components/controls/search_field";
import { Segmented } from "../../components/controls/segmented";
import { WindowTable } from "../../components/data_table/table";
import { rowAmong, useOffsets, WINDOW } from "../../components/data_table/use_windows";
import { ColumnsMenu, hiddenIn } from "../../components/overlays/columns_menu";
import { ProblemNote } from "../../components/states/problem_note";
import { useAddress, useValues } from "../../state/host/environment";
import { usePage } from "../../state/page_context";
import { type Asked, askPart, NOBODY, useParts } from "../../state/parts";
import { columnsOf } from "./columns";
import { Details } from "./details";

/** The kernel table as text, in base units. */

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

/** The table of kernels: grouped, searched, sorted, opened in place. */

const USUALLY_HIDDEN = "p50_ns,p95_ns,launch_ns";
const GROUPS: readonly (readonly [KernelGroupBy, string])[] = [
  ["name", "Kernel name"],
  ["properties", "Properties + operator"],
  ["class", "Class"],
];

export function KernelRows({ answer, steps }: { answer: Kernels; steps: string }) {
  const address = useAddress();
  const values = useValues();
  const client = useQueryClient();
  const { shown } = usePage();
  const asked: Asked = shown ?? NOBODY;
  const query: KernelQuery = useMemo(
    () => ({
      steps,
      group_by: (values["kernels.group"] ?? "name") as KernelGroupBy,
      search: values["kernels.search"] ?? "",
      search_op: values["kernels.op"] ?? "",
      sort_by: values["kernels.sort"] ?? "",
      ascending: values["kernels.up"] === "1",
    }),
    [steps, values],
  );
  const [offsets, onRange] = useOffsets();
  const states = useParts(
    "kernels/table",
    offsets.map((offset) => ({ asked, query: { ...query, offset, limit: WINDOW } })),
  );
  const windows = states.map((state) => state.data);
  const first = windows.find((one) => one !== undefined);
  const [last, setLast] = useState(first);
  if (first !== undefined && first !== last) {
    setLast(first);
  }
  const known = first ?? last;
  const problem = states.find((state) => state.problem !== null)?.problem ?? null;
  const all = columnsOf(answer, known?.rows ?? [], query);
  const hidden = hiddenIn(values["kernels.hide"], USUALLY_HIDDEN);
  const columns = all.filter(({ key }) => !hidden.has(key));
  const set = (key: string, value: string) =>
    address.replace({ [`kernels.${key}`]: value === "" ? undefined : value });
  const rowAt = (index: number) => rowAmong(windows, index);
  return (
    <section className="panel" aria-label="Kernels">
      <div className="tools">
        <Segmented
          label="Group by"
          options={GROUPS}
          value={query.group_by ?? "name"}
          onChange={(group) => set("group", group === "name" ? "" : group)}
        />
        {(
          [
            ["search", "Kernel name"],
            ["op", "Operator"],
          ] as const
        ).map(([key, words]) => (
          <SearchField
            key={key}
            words={words}
            label={`Filter by ${words.toLowerCase()}`}
            value={values[`kernels.${key}`] ?? ""}
            onChange={(text) => set(key, text)}
          />
        ))}
        <span className="hint" aria-live="polite">
          {known === undefined ? "" : `${known.count.toLocaleString("en-US")} rows`}
        </span>
        <span className="grow" />
        <ColumnsMenu columns={all} hidden={hidden} onChange={(hidden) => set("hide", hidden)} />
        <CopyRows
          key={JSON.stringify([asked, query])}
          label="kernels"
          ask={(offset, limit) =>
            askPart(client, "kernels/table", asked, { ...query, offset, limit })
          }
          toTable={plainRows}
        />
      </div>
      {problem === null ? (
        <WindowTable<KernelRow>
          label="Kernels"
          columns={columns}
          windows={{ count: known?.count ?? 0, rowAt, onRange }}
          sortBy={known?.sort_by ?? ""}
          isAscending={query.ascending === true}
          onSort={(key, isAscending) =>
            address.replace({ "kernels.sort": key, "kernels.up": isAscending ? "1" : undefined })
          }
          opened={values["kernels.row"] ?? null}
          onOpen={(key) => address.replace({ "kernels.row": key ?? undefined })}
          detail={(row) => <Details asked={asked} row={row} query={query} />}
          empty="No such kernel in the chosen steps."
          isOld={states.some((state) => state.isLoading) && first === undefined}
        />
      ) : (
        <ProblemNote
          problem={toProblem(problem)}
          again={() => {
            for (const state of states) {
              state.again();
            }
          }}
        />
      )}
    </section>
  );
}
