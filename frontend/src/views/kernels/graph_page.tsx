/** The page of one replayed graph: its replays, what they waited for, its nodes in their order. */
import type { GraphPage, GraphQuery, NodeRow } from "../../api/types.gen";
import { count, DASH } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { SearchField } from "../../components/controls/search_field";
import { ViewLink } from "../../components/controls/view_link";
import { type Cells, timeBar } from "../../components/data_table/declared";
import { PartTable } from "../../components/data_table/part_table";
import { Answered, Skeleton } from "../../components/states/answered";
import { Panel } from "../../components/states/panel";
import { CodeName } from "../../components/text/code_name";
import { Hero } from "../../components/text/hero";
import { useAddress, useValues } from "../../state/host/environment";
import { useAsked, usePart } from "../../state/parts";
import { FROM_CAPTURE, knownBy, LentOps, Missing, Replays, Waits } from "./graph_facts";

const LONGEST_SHAPES = 4000;
const dim = <span className="dim">{DASH}</span>;

/** A graph of the table with the recording of its capture that is chosen. */
export function useGraphQuery(key: string, steps: string): GraphQuery {
  const values = useValues();
  return {
    key,
    steps,
    capture_run: values["kernels.capture"] ?? "",
    capture_worker: values["kernels.captureworker"] ?? "",
  };
}

/** The parts of a graph below its row in the table, and the way to its page. */
export function GraphDetails({ graph, steps }: { graph: string; steps: string }) {
  const state = usePart("kernels/graph", useAsked(), useGraphQuery(graph, steps));
  return (
    <Answered state={state}>
      {(page) => (
        <div className="op-details">
          <section aria-label="Idle inside">
            <h3>
              Idle inside <span className="dim">{knownBy(page)}</span>
            </h3>
            <Waits page={page} />
          </section>
          <section aria-label="Replays">
            <h3>Replays</h3>
            <Replays page={page} />
          </section>
          <section aria-label="Operators">
            <h3>Operators</h3>
            <LentOps page={page} />
          </section>
          <section aria-label="Nodes">
            <h3>
              Nodes <span className="dim">{count(page.row.nodes ?? 0)}</span>
            </h3>
            <p>
              <ViewLink stem="kernels" params={{ graph }}>
                The page of {harmless(page.row.name)}, with its nodes in order
              </ViewLink>
            </p>
            <Missing page={page} />
          </section>
        </div>
      )}
    </Answered>
  );
}

const KINDS: Readonly<Record<NodeRow["kind"], string>> = {
  kernel: "kernel",
  copy: "copy",
  set: "set",
  host: "host call",
  event: "event",
};

const cellsOf = (rows: readonly NodeRow[]): Cells<NodeRow> => ({
  name: {
    width: 170,
    grow: 4,
    cell: (row) => (
      <ViewLink
        stem="timeline"
        params={{ select: String(row.longest) }}
        title={`${harmless(row.name)}\nIts longest run, in Trace`}
      >
        <CodeName name={row.name} short={row.short || row.name} />
      </ViewLink>
    ),
  },
  kind: { width: 64, cell: (row) => KINDS[row.kind] },
  op: {
    width: 90,
    cell: (row) =>
      row.op === null ? (
        dim
      ) : (
        <span title={FROM_CAPTURE}>
          <CodeName name={row.op} />
        </span>
      ),
  },
  shapes: {
    width: 90,
    cell: (row) =>
      row.shapes === null ? (
        dim
      ) : (
        <span title={`${harmless(row.shapes, LONGEST_SHAPES)}, ${FROM_CAPTURE}`}>
          {harmless(row.shapes)}
        </span>
      ),
  },
  total_ns: timeBar(rows, "total_ns"),
  ratio: { isMain: true },
});

/** What a node was launched by when its graph was captured. */
function NodeDetails({ row, why }: { row: NodeRow; why: string }) {
  if (!row.lent) {
    return <p className="node-details dim">{harmless(why, LONGEST_SHAPES)}</p>;
  }
  return (
    <div className="node-details">
      <p>
        <b>
          <CodeName name={row.op ?? "no operator"} />
        </b>{" "}
        <span className="chip">{FROM_CAPTURE}</span>
      </p>
      {row.shapes === null ? null : <p className="mono">{harmless(row.shapes, LONGEST_SHAPES)}</p>}
      {row.module === null ? null : <p>{harmless(row.module)}</p>}
      {row.stack.length === 0 ? (
        <p className="dim">No Python frames were recorded there.</p>
      ) : (
        <ol className="node-stack mono">
          {row.stack.map((frame, depth) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a frame may stand twice in a stack
            <li key={depth} className="clip" title={harmless(frame)}>
              {harmless(frame)}
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}

function Nodes({ page, query }: { page: GraphPage; query: GraphQuery }) {
  const address = useAddress();
  const values = useValues();
  const search = values["kernels.nodes.search"] ?? "";
  const why =
    page.capture.state === "lent"
      ? "The recording of the capture has no launch that fits this node."
      : page.capture.text;
  return (
    <PartTable
      part="kernels/nodes"
      label="Nodes"
      stem="kernels.nodes"
      query={{ ...query, search }}
      keyOf={(row) => row.key}
      usualSorting={{ key: "place", isDown: false }}
      cells={cellsOf}
      filters={
        <SearchField
          words="Node or operator"
          label="Filter by node or operator"
          value={search}
          onChange={(text) =>
            address.replace({ "kernels.nodes.search": text === "" ? undefined : text })
          }
        />
      }
      detail={(row) => <NodeDetails row={row} why={why} />}
      empty="No such node ran in the chosen steps."
    />
  );
}

export function GraphView({ graph, steps }: { graph: string; steps: string }) {
  const query = useGraphQuery(graph, steps);
  const state = usePart("kernels/graph", useAsked(), query, true);
  const back = (
    <p>
      <ViewLink stem="kernels" params={{ graph: "", row: "" }}>
        ← all kernels
      </ViewLink>
    </p>
  );
  return (
    <div className={state.isOld ? "stack stale" : "stack"}>
      {back}
      <Answered state={state} waiting={<Skeleton heights={[48, 240, 520]} />}>
        {(page) => (
          <>
            <Hero headline={page.headline} detail={page.detail} />
            <Missing page={page} />
            <div className="grid kernels-grid">
              <Panel title="Idle inside" hint={knownBy(page)}>
                <Waits page={page} />
              </Panel>
              <Panel title="Replays">
                <Replays page={page} />
              </Panel>
              <Panel title="Operators">
                <LentOps page={page} />
              </Panel>
            </div>
            <Nodes page={page} query={query} />
          </>
        )}
      </Answered>
    </div>
  );
}
