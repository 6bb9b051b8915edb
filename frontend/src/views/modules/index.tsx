/** Which modules ran, what did each cost, and what belongs to none? */
import type { ModuleWhole } from "../../api/types.gen";
import { share, time } from "../../base/text/format";
import { Skeleton, ViewAnswer } from "../../components/states/answered";
import { Panel } from "../../components/states/panel";
import { Hero } from "../../components/text/hero";
import { useValues } from "../../state/host/environment";

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
  const steps = useValues()["steps"] ?? "";
  return (
    <ViewAnswer stem="modules" query={{ steps }} waiting={<Skeleton heights={[48, 240]} />}>
      {({ headline, detail, device, ops }, isOld) => (
        <div className={isOld ? "stack stale" : "stack"}>
          <Hero headline={headline} detail={detail} />
          <Parts whole={device ?? ops} title={device === null ? "Time of ops" : "Device time"} />
        </div>
      )}
    </ViewAnswer>
  );
}
