/** What a row of kernels consists of: launches, the ops behind them, why it has its class. */

import type { ReactNode } from "react";
import type { KernelDetails, KernelGroupBy, KernelQuery, KernelRow } from "../../api/types.gen";
import { count, plural, time } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { ViewLink } from "../../components/controls/view_link";
import { figure } from "../../components/data_table/declared";
import type { PerStep } from "../../components/data_table/per_step";
import { Answered } from "../../components/states/answered";
import { type Figure, FirstRows } from "../../components/states/first_few";
import { SlowCalls } from "../../components/states/slow_calls";
import { CodeName } from "../../components/text/code_name";
import { useAsked, usePart } from "../../state/parts";
import { graphOf, launchWords } from "./cells";
import { GraphDetails } from "./graph_page";

/** Calls and time of a part of the row. */
const figuresOf = (
  calls: string,
  { steps, words }: PerStep,
): readonly Figure<{ calls: number; total_ns: number }>[] => [
  {
    head: `Calls${words}`,
    help: calls,
    words: (one) => figure(one.calls / steps, ""),
  },
  {
    head: `Time${words}`,
    help: "Sum of their durations on the device.",
    words: (one) => time(one.total_ns / steps),
  },
];

interface DetailsProps {
  readonly row: KernelRow;
  readonly query: KernelQuery;
  readonly perStep: PerStep;
}

export function Details({ row, query, perStep }: DetailsProps) {
  if (query.group_by !== "graph") {
    return (
      <KernelParts row={row} query={query} perStep={perStep} groupBy={query.group_by ?? "name"} />
    );
  }
  return graphOf(row) === null ? (
    <p className="node-details dim">
      Each of these kernels was launched on its own. Grouped by name, they are listed with those of
      graphs.
    </p>
  ) : (
    <GraphDetails graph={row.key} steps={query.steps ?? ""} />
  );
}

interface PartsProps extends DetailsProps {
  readonly groupBy: Exclude<KernelGroupBy, "graph">;
}

function KernelParts({ row, query, perStep, groupBy }: PartsProps) {
  const state = usePart("kernels/row", useAsked(), {
    key: row.key,
    steps: query.steps ?? "",
    group_by: groupBy,
  });
  // A row of these has kernels of many names.
  const isOwner = groupBy === "module" || groupBy === "line";
  const allLaunches = isOwner ? undefined : (
    <ViewLink stem="kernels" params={{ search: row.name, group: "properties", row: "" }}>
      all of this kernel, as rows of the table
    </ViewLink>
  );
  return (
    <Answered state={state}>
      {(data) => (
        <div className="op-details">
          <Launches data={data} isOwner={isOwner} beyond={allLaunches} perStep={perStep} />
          <section aria-label="Launched by">
            <h3>
              Launched by <span className="dim">{plural(data.ops_count, "operator")}</span>
            </h3>
            <FirstRows
              items={data.ops}
              total={data.ops_count}
              head="Operator"
              help="The op that launched it on the host; opens the Operator view."
              keyOf={(one) => one.name}
              nameOf={(one) =>
                one.name === "" ? (
                  <span className="dim">unknown</span>
                ) : (
                  <ViewLink stem="operators" params={{ search: one.name }}>
                    <CodeName name={one.name} />
                  </ViewLink>
                )
              }
              figures={figuresOf("Launches from there.", perStep)}
            />
            <p className="hint">
              Found by: {data.row.link}.{" "}
              {data.row.link === "graph" ? (
                <>
                  What launched it when the graph was captured:{" "}
                  <ViewLink stem="kernels" params={{ group: "graph", sort: "", row: "" }}>
                    kernels by graph
                  </ViewLink>
                  .
                </>
              ) : null}
            </p>
          </section>
          {isOwner ? null : <Why row={row} fusedLines={data.fused_lines} />}
          <SlowCalls title="Slowest" name={row.name} calls={data.slowest} total={data.row.calls} />
        </div>
      )}
    </Answered>
  );
}

interface LaunchesProps {
  readonly data: KernelDetails;
  readonly isOwner: boolean;
  readonly beyond: ReactNode;
  readonly perStep: PerStep;
}

/** The kernels of a row by grid and block. */
function Launches({ data, isOwner, beyond, perStep }: LaunchesProps) {
  const launchOf = ({ grid, block }: KernelRow) =>
    grid === null && block === null ? (
      <span className="dim">not recorded</span>
    ) : (
      `${launchWords(grid)} · ${launchWords(block)}`
    );
  const [title, help] = isOwner
    ? ["Kernel", "A kernel with one grid and block."]
    : ["Grid · block", "Blocks of a launch, and threads of a block, as recorded."];
  return (
    <section aria-label="Launches">
      <h3>
        {isOwner ? "Kernels" : "Grid and block"}{" "}
        <span className="dim">{count(data.launches_count)}</span>
      </h3>
      <FirstRows
        items={data.launches}
        total={data.launches_count}
        beyond={beyond}
        head={title}
        help={help}
        keyOf={(one) => one.key}
        nameOf={(one) => (isOwner ? <CodeName name={one.name} short={one.short} /> : launchOf(one))}
        figures={figuresOf("Launches of this size.", perStep)}
      />
    </section>
  );
}

/** Why a kernel has its class. */
function Why({ row, fusedLines }: { readonly row: KernelRow; readonly fusedLines: string }) {
  return (
    <section aria-label="Why this class">
      <h3>Why {harmless(row.kernel_class)}</h3>
      <p className="prose">{harmless(row.class_why)}.</p>
      {row.fused === "" ? null : <p className="prose">Fused: {harmless(row.fused)}</p>}
      {fusedLines === "" ? null : <p className="prose">Lines: {harmless(fusedLines)}</p>}
      {row.source === "" ? null : <p className="prose clip">From {harmless(row.source)}</p>}
    </section>
  );
}
