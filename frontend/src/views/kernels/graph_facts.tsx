/** What a graph's replays waited for, how long they took, and which operators a capture lends. */
import type { GraphPage, InsideWait } from "../../api/types.gen";
import { count, DASH, time } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { Select } from "../../components/controls/select";
import { ViewLink } from "../../components/controls/view_link";
import { DeclaredTable } from "../../components/data_table/declared";
import { Heading } from "../../components/data_table/heading";
import { FirstFew, FirstRows } from "../../components/states/first_few";
import { CodeName } from "../../components/text/code_name";
import { Paragraph } from "../../components/text/prose";
import { useAddress, useValues } from "../../state/host/environment";

/** Names of runs and workers may be long. */
const LONGEST_TEXT = 4000;

/** The mark of everything that is not of this recording. */
export const FROM_CAPTURE = "from the capture-time recording";

const WAITED: Readonly<Record<InsideWait["kind"], string>> = {
  latency: "launch after",
  host: "host call",
  other: "other work",
  unknown: "not recorded",
};

const waitKey = ({ kind, name, inferred }: InsideWait) => `${kind} ${inferred} ${name}`;

function WaitName({ wait }: { wait: InsideWait }) {
  return (
    <ViewLink
      stem="timeline"
      params={{ select: String(wait.longest) }}
      title={`${harmless(wait.name)}\nThe work after the longest stretch, in Trace`}
    >
      {wait.name === "" ? "in Trace" : <CodeName name={wait.name} />}
    </ViewLink>
  );
}

/** Whether it is known by a recorded dependency, where not all are alike. */
const howKnown = (wait: InsideWait, waits: readonly InsideWait[]): string =>
  waits.every(({ inferred }) => inferred === wait.inferred) || !wait.inferred ? "" : ", inferred";

export function Waits({ page }: { page: GraphPage }) {
  const idle = page.row.inside_idle_ns ?? 0;
  if (idle === 0) {
    return <p className="dim">Its replays were never idle inside.</p>;
  }
  return (
    <DeclaredTable
      label="what its replays waited for"
      heads={page.waits_columns}
      rows={page.waits}
      total={page.waits_count}
      keyOf={waitKey}
      cells={{
        kind: (wait) => (
          <>
            {WAITED[wait.kind]}
            <span className="dim">{howKnown(wait, page.waits)}</span>
          </>
        ),
        name: (wait) => <WaitName wait={wait} />,
        nodes: (wait) => (wait.nodes === 0 ? DASH : count(wait.nodes)),
      }}
    />
  );
}

/** What the waits of a graph are known by, where all are alike. */
export const knownBy = ({ waits }: GraphPage): string =>
  waits.length > 0 && waits.every(({ inferred }) => inferred) ? "inferred from the order" : "";

export function Replays({ page }: { page: GraphPage }) {
  const total = page.row.replays ?? 0;
  if (total === 0) {
    return <p className="dim">{page.missing["replays"]}</p>;
  }
  return (
    <>
      <dl className="quantiles">
        {page.quantiles.map(({ name, ns }) => (
          <div key={name}>
            <dt className="dim">{name}</dt>
            <dd className="num">{time(ns)}</dd>
          </div>
        ))}
      </dl>
      <FirstFew items={page.replays} total={total} most={5}>
        {(shown) => (
          <table className="plain">
            <thead>
              <tr>
                <Heading help="Each leads to its place in Trace.">Longest replays</Heading>
                <Heading
                  help="The batch size that a range around the launch names."
                  className="num"
                >
                  Batch
                </Heading>
                <Heading
                  help="Time within the replay in which none of its work ran."
                  className="num"
                >
                  Idle
                </Heading>
                <Heading
                  help="From the start of its first work to the end of its last."
                  className="num"
                >
                  Length
                </Heading>
              </tr>
            </thead>
            <tbody>
              {shown.map((one) => (
                <tr key={one.ts}>
                  <td className="clip" title={harmless(one.step)}>
                    <ViewLink
                      stem="timeline"
                      params={{
                        select: String(one.slice),
                        at: `${one.ts}-${one.ts + Math.max(one.dur_ns, 1)}`,
                      }}
                    >
                      {one.step === "" ? "outside steps" : harmless(one.step)}
                    </ViewLink>
                  </td>
                  <td className="num">{one.batch === null ? DASH : count(one.batch)}</td>
                  <td className="num">{time(one.idle_ns)}</td>
                  <td className="num">{time(one.dur_ns)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </FirstFew>
    </>
  );
}

const FOUND = "";
const keyOf = (run: string, worker: string) => `${run}\n${worker}`;

/** A choice of the recording that lends operators. */
function CaptureChoice({ page }: { page: GraphPage }) {
  const address = useAddress();
  const values = useValues();
  const run = values["kernels.capture"] ?? "";
  const worker = values["kernels.captureworker"] ?? "";
  const options: (readonly [string, string])[] = [
    [FOUND, "found by its name"],
    ...page.capture.choices.map((one): readonly [string, string] => [
      keyOf(one.run, one.worker),
      harmless(`${one.run} · ${one.worker}`),
    ]),
  ];
  const chosen = run === "" ? FOUND : keyOf(run, worker);
  if (!options.some(([key]) => key === chosen)) {
    options.push([chosen, harmless(`${run} · ${worker === "" ? "all workers" : worker}`)]);
  }
  if (page.capture.choices.length === 0 && run === "") {
    return null;
  }
  return (
    <p className="capture-choice">
      <label htmlFor="kernels-capture" className="dim">
        Recording of the capture
      </label>
      <Select
        id="kernels-capture"
        options={options}
        value={chosen}
        onChange={(key) => {
          const [nextRun, nextWorker] = key.split("\n");
          address.replace({
            "kernels.capture": nextRun === "" ? undefined : nextRun,
            "kernels.captureworker": nextWorker,
          });
        }}
      />
    </p>
  );
}

export function LentOps({ page }: { page: GraphPage }) {
  const { capture, ops } = page;
  return (
    <>
      <Paragraph className="prose" text={harmless(capture.text, LONGEST_TEXT)} />
      {ops.length === 0 ? null : (
        <FirstRows
          items={ops}
          total={page.ops_count}
          head={`Operators, ${FROM_CAPTURE}`}
          help="Operators that launched these kernels while the graph was captured."
          keyOf={(one) => one.name}
          nameOf={(one) =>
            one.name === "" ? (
              <span className="dim">not found there</span>
            ) : (
              <CodeName name={one.name} />
            )
          }
          figures={[
            {
              head: "Kernels",
              help: "Kernels of the graph that they launched.",
              words: (one) => count(one.kernels),
            },
            {
              head: "Time",
              help: "Their time in the replays.",
              words: (one) => time(one.total_ns),
            },
          ]}
        />
      )}
      <CaptureChoice page={page} />
    </>
  );
}

/** What this recording does not tell of the graph, and what stands for it. */
export function Missing({ page }: { page: GraphPage }) {
  const texts = ["ids", "node_ids", "dependencies", "batch", "replays"].flatMap((key) => {
    const text = page.missing[key];
    return text === undefined ? [] : [text];
  });
  return texts.length === 0 ? null : (
    <ul className="graph-missing hint">
      {texts.map((text) => (
        <li key={text}>
          <Paragraph text={text} />
        </li>
      ))}
    </ul>
  );
}
