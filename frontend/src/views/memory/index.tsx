import type { Memory } from "../../api/types.gen";
import { bytes, share } from "../../base/text/format";
import { Skeleton, ViewAnswer } from "../../components/states/answered";
import { Panel } from "../../components/states/panel";
import { Hero } from "../../components/text/hero";
import { useValues } from "../../state/host/environment";

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
  const steps = useValues()["steps"] ?? "";
  return (
    <ViewAnswer stem="memory" query={{ steps }} waiting={<Skeleton heights={[48, 240]} />}>
      {(answer, isOld) => <Figures answer={answer} isOld={isOld} />}
    </ViewAnswer>
  );
}
