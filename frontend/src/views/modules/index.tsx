/** Which modules ran, what did each cost, and what belongs to none? */
import { toProblem } from "../../api/problem";
import type { ModuleWhole } from "../../api/types.gen";
import { share, time } from "../../base/text/format";
import { Panel } from "../../components/states/panel";
import { ProblemNote } from "../../components/states/problem_note";
import { ViewReading } from "../../components/states/view_reading";
import { Hero } from "../../components/text/hero";
import { useValues } from "../../state/host/environment";
import { useView } from "../../state/queries";

/** The parts that sum to all of a time. */
function Parts({ whole, title }: { whole: ModuleWhole; title: string }) {
  return (
    <Panel title={title} hint={time(whole.total_ns)}>
      <table className="plain">
        <tbody>
          {whole.parts.map(({ key, name, ns, help }) => (
            <tr key={key} title={help}>
              <td>{name}</td>
              <td className="num">{time(ns)}</td>
              <td className="num">{share(whole.total_ns === 0 ? 0 : ns / whole.total_ns)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

export default function ModulesView() {
  const values = useValues();
  const { data, isOld, reading, problem, again } = useView("modules", {
    steps: values["steps"] ?? "",
  });
  if (problem !== null) {
    return <ProblemNote problem={toProblem(problem)} again={again} />;
  }
  if (reading !== null) {
    return <ViewReading progress={reading} />;
  }
  return data === undefined ? (
    <div className="stack" aria-hidden="true">
      <div className="skeleton" style={{ height: 48 }} />
      <div className="skeleton" style={{ height: 240 }} />
    </div>
  ) : (
    <div className={isOld ? "stack stale" : "stack"}>
      <Hero headline={data.headline} detail={data.detail} />
      <Parts
        whole={data.device ?? data.ops}
        title={data.device === null ? "Time of ops" : "Device time"}
      />
    </div>
  );
}
