import { toProblem } from "../../api/problem";
import type { Memory } from "../../api/types.gen";
import { bytes, share } from "../../base/text/format";
import { Panel } from "../../components/states/panel";
import { ProblemNote } from "../../components/states/problem_note";
import { ViewReading } from "../../components/states/view_reading";
import { Hero } from "../../components/text/hero";
import { useValues } from "../../state/host/environment";
import { useView } from "../../state/queries";

function Figures({ answer, isOld }: { answer: Memory; isOld: boolean }) {
  const label = answer.devices.find((one) => one.key === answer.device)?.label ?? answer.device;
  return (
    <div className={isOld ? "stack stale" : "stack"}>
      <Hero headline={answer.headline} detail={answer.detail} />
      <Panel title="At the peak" hint={label} isOld={isOld}>
        <table className="plain">
          <thead>
            <tr>
              <th>Category</th>
              <th className="num">Size</th>
              <th className="num">Share</th>
            </tr>
          </thead>
          <tbody>
            {answer.peak.categories.map((one) => (
              <tr key={one.category}>
                <td>{one.label}</td>
                <td className="num">{bytes(one.bytes)}</td>
                <td className="num">{share(one.ratio)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Panel>
    </div>
  );
}

/** What fills the memory, when is it fullest, and does it grow? */
export default function MemoryView() {
  const values = useValues();
  const query = { steps: values["steps"] ?? "" };
  const { data, isOld, reading, problem, again } = useView("memory", query);
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
    <Figures answer={data} isOld={isOld} />
  );
}
