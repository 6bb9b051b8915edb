/** Device time that is nobody's, with its reason: then everything adds up. */
import type { Operators } from "../../api/types.gen";
import { count, exactTime, plural, share, time } from "../../base/format";
import { CodeName } from "../../components/code_name";
import { Prose } from "../../components/prose";
import { ViewLink } from "../../components/view_link";

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
