/** Device time that is nobody's, with its reason: then everything adds up. */
import type { Operators } from "../../api/types.gen";
import { count, exactTime, plural, share, time } from "../../base/format";
import { harmless } from "../../base/shown_name";
import { CodeName } from "../../components/code_name";
import { Prose } from "../../components/prose";
import { ViewLink } from "../../components/view_link";

/** Device time of calls that replay graphs, largest first, as far as the bars name them. */
export const graphsOf = ({ charts }: Operators) =>
  charts
    .filter(({ stem }) => stem === "device_self")
    .flatMap(({ parts }) => parts.filter(({ name }) => name.includes("GraphLaunch")));

export function Unattributed({ answer }: { answer: Operators }) {
  const { device_ns, unattributed } = answer;
  const odd = answer.missing["flops"] ?? "";
  if (device_ns === null) {
    return (
      <p className="prose dim">
        <Prose text={`${answer.missing["device"] ?? ""} ${odd}`.trim()} />
      </p>
    );
  }
  const graphs = graphsOf(answer);
  const lost = unattributed.reduce((sum, one) => sum + one.ns, 0);
  return (
    <section className="unattributed" aria-label="What adds up">
      <p className="prose">
        Device time of the operators {exactTime(device_ns - lost)} + unattributed {exactTime(lost)}{" "}
        = {exactTime(device_ns)}, all device activity
        {answer.flops_coverage === null || answer.flops_coverage === 0
          ? "."
          : `. FLOPs are known for ${share(answer.flops_coverage)} of the compute time.`}{" "}
        <Prose text={odd} />
      </p>
      {graphs.map(({ name, ns }) => (
        <p key={name} className="prose">
          Of this, {time(ns)} ({share(ns / device_ns)}) was launched by graphs (
          <code>{harmless(name)}</code>
          ). A graph is no operator, and inside it the operator of a kernel is not recorded:{" "}
          <ViewLink stem="kernels">the kernels that ran</ViewLink>
        </p>
      ))}
      {unattributed.map((one) => (
        <p key={one.reason} className="prose">
          {time(one.ns)} ({share(one.ns / device_ns)}) in {count(one.activities)}{" "}
          {one.activities === 1 ? "activity" : "activities"}: {one.reason}; for example{" "}
          <ViewLink stem="timeline" params={{ select: String(one.slice) }}>
            <CodeName name={one.example} />
          </ViewLink>
        </p>
      ))}
      {unattributed.length === 0 ? (
        <p className="prose dim">{`${plural(0, "activity", "activities")} without an operator.`}</p>
      ) : null}
    </section>
  );
}
