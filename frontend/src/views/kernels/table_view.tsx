import type { KernelGroupBy, KernelQuery, KernelRow, Kernels } from "../../api/types.gen";
import { plainTable } from "../../base/text/delimited";
import { SearchField } from "../../components/controls/search_field";
import { Segmented } from "../../components/controls/segmented";
import { PartTable } from "../../components/data_table/part_table";
import { useAddress, useValues } from "../../state/host/environment";
import { columnsOf } from "./columns";
import { Details } from "./details";

/** The kernel table as text, in base units. */

const kernelsToPlain = plainTable<KernelRow>([
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
  "energy_j",
  "power_w",
  "sm_clock_mhz",
  "sm_active_percent",
  "dram_percent",
]);

const FIGURES = [
  "batch",
  "replays",
  "nodes",
  "node_ns",
  "replay_min_ns",
  "replay_p50_ns",
  "replay_p95_ns",
  "replay_max_ns",
  "replay_ns",
  "inside_idle_ns",
] as const;

const graphsToPlain = plainTable<KernelRow>([
  "name",
  ...FIGURES.map((key) => [key, (row: KernelRow) => row.graph?.[key] ?? null] as const),
  "calls",
  "total_ns",
  "ratio",
]);

/** The table of kernels: grouped, searched, sorted, opened in place. */

const USUALLY_HIDDEN = "p50_ns,p95_ns,launch_ns,power_w,sm_clock_mhz,replay_p95_ns";
const GROUPS: readonly (readonly [KernelGroupBy, string])[] = [
  ["name", "Kernel name"],
  ["properties", "Properties + operator"],
  ["class", "Class"],
];

const ANEW = {
  "kernels.sort": undefined,
  "kernels.up": undefined,
  "kernels.row": undefined,
};

export function KernelRows({ answer, steps }: { answer: Kernels; steps: string }) {
  const address = useAddress();
  const values = useValues();
  const query: KernelQuery = {
    steps,
    group_by: (values["kernels.group"] ?? "name") as KernelGroupBy,
    search: values["kernels.search"] ?? "",
    search_op: values["kernels.op"] ?? "",
  };
  const set = (key: string, value: string) =>
    address.replace({ [`kernels.${key}`]: value === "" ? undefined : value });
  const none = query.group_by === "graph" ? answer.missing["graphs"] : undefined;
  return (
    <PartTable
      part="kernels/table"
      label="Kernels"
      head={none === undefined ? null : <p className="hint graphs-none">{none}</p>}
      stem="kernels"
      query={query}
      keyOf={(row) => row.key}
      columns={(rows) => columnsOf(rows, query, answer.cores_name)}
      definitions={answer.definitions}
      usuallyHidden={USUALLY_HIDDEN}
      toPlain={query.group_by === "graph" ? graphsToPlain : kernelsToPlain}
      filters={
        <>
          <Segmented
            label="Group by"
            options={[...GROUPS, ["graph", "Graph", answer.missing["graphs"] ?? ""]]}
            value={query.group_by ?? "name"}
            onChange={(group) =>
              address.replace({
                "kernels.group": group === "name" ? undefined : group,
                // Graphs have columns and rows of their own.
                ...(group === "graph" || query.group_by === "graph" ? ANEW : {}),
              })
            }
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
        </>
      }
      detail={(row) => <Details row={row} query={query} />}
      empty="No such kernel in the chosen steps."
    />
  );
}
