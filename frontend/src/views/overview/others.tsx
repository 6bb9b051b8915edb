/** Other recordings of this run and the run before or after it: how long a step takes, and what they say. */
import { useQueries } from "@tanstack/react-query";
import { getTrace, getView } from "../../api/routes";
import type { Catalog, SpanInfo, WorkerInfo } from "../../api/types.gen";
import { time } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { Panel } from "../../components/states/panel";
import { Prose } from "../../components/text/prose";
import { useEnvironment } from "../../state/host/environment";
import type { Patch } from "../../state/location/fragment";
import { canFill, isSnapshot, type Shown, usePage } from "../../state/page_context";
import { hintFor } from "../../state/step_times";

const MOST = 3;

/** A recording to go to. */
export interface Other {
  readonly run: string;
  readonly worker: string;
  readonly span: SpanInfo;
  readonly words: string;
}

const readSpan = ({ spans }: WorkerInfo) =>
  spans.findLast(({ state, file }) => state === "ready" && !isSnapshot(file));

/** The run before or after, then the ranks whose steps differ most from those shown. */
export function othersOf({ runs }: Catalog, { key }: Shown): readonly Other[] {
  const hint = hintFor(runs, key.run);
  const named = [hint?.patch["run"], hint?.patch["diff.base"]].find(
    (name) => name !== undefined && name !== key.run,
  );
  const near = runs.find(({ name }) => name === named);
  const own = runs.find(({ name }) => name === key.run);
  const like =
    near?.workers.find(({ name }) => name === key.worker) ??
    near?.workers.find((worker) => readSpan(worker) !== undefined);
  const ownNs = meanOf(own?.workers.find(({ name }) => name === key.worker));
  const ranks = (own?.workers ?? [])
    .filter(({ name }) => name !== key.worker)
    .sort((a, b) => Math.abs(meanOf(b) - ownNs) - Math.abs(meanOf(a) - ownNs));
  const otherOf = (run: string, worker: WorkerInfo, words: string): Other[] => {
    const span = readSpan(worker);
    return span === undefined ? [] : [{ run, worker: worker.name, span, words }];
  };
  return [
    ...(near === undefined || like === undefined ? [] : otherOf(near.name, like, near.name)),
    ...ranks.flatMap((worker) =>
      otherOf(key.run, worker, worker.rank === null ? worker.name : `rank ${worker.rank}`),
    ),
  ].slice(0, MOST);
}

const meanOf = (worker: WorkerInfo | undefined): number =>
  (worker === undefined ? undefined : readSpan(worker))?.steps?.median_ns ?? 0;

const keyOf = ({ run, worker, span }: Other) => ({ run, worker, span: span.key });

export function Others() {
  const { catalog, shown } = usePage();
  const near = shown === null ? [] : othersOf(catalog, shown);
  const traces = useQueries({
    queries: near.map((other) => {
      const key = keyOf(other);
      return {
        queryKey: ["trace", key, other.span.digest],
        queryFn: ({ signal }: { signal: AbortSignal }) => getTrace(key, other.span.digest, signal),
      };
    }),
  });
  // What has events of the allocator alone has no overview.
  const others = near.filter((other, at) => {
    const trace = traces[at]?.data;
    return (
      trace?.state === "ready" &&
      canFill({ ...other.span, key: keyOf(other), trace: trace.data }, "overview")
    );
  });
  const answers = useQueries({
    queries: others.map((other) => {
      const key = keyOf(other);
      const { span } = other;
      return {
        queryKey: ["view", "overview", key, span.digest, {}],
        queryFn: ({ signal }: { signal: AbortSignal }) =>
          getView("overview", key, span.digest, {}, signal),
      };
    }),
  });
  return others.length === 0 ? null : (
    <Panel title="Other recordings" className="apart" isOld={false}>
      <div className="others-row">
        {others.map((other, at) => {
          const { data } = answers[at] ?? {};
          const said = data?.state === "ready" ? data.data.sentence.headline : "";
          return <OtherCard key={`${other.run} ${other.worker}`} other={other} said={said} />;
        })}
      </div>
    </Panel>
  );
}

function OtherCard({ other, said }: { readonly other: Other; readonly said: string }) {
  const { address } = useEnvironment();
  const { run, worker, span, words } = other;
  const patch: Patch = { run, worker, span: span.key };
  return (
    <p className="other-said">
      <a
        href={address.href(patch)}
        onClick={(event) => {
          if (event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
            event.preventDefault();
            address.navigate(patch);
          }
        }}
      >
        {harmless(words, 60)}
      </a>{" "}
      <b className="num">{span.steps === null ? "" : time(span.steps.median_ns)}</b>
      <br />
      <Prose text={said} />
    </p>
  );
}
