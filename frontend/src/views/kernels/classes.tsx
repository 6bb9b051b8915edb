/** Kernel time by class: all of it, what no rule knows last. */
import type { Kernels } from "../../api/types.gen";
import { share, time } from "../../base/format";
import { Panel } from "../../components/panel";
import { useAddress } from "../../state/environment";

const CATEGORY: Readonly<Record<string, string>> = {
  communication: "comm",
  copy: "memcpy",
  memset: "memset",
  unclassified: "other",
};

export function Classes({ answer, isOld }: { answer: Kernels; isOld: boolean }) {
  const address = useAddress();
  const most = Math.max(...answer.classes.map((part) => part.ns), 1);
  const unknown = answer.classes.find((part) => part.name === "unclassified");
  return (
    <Panel
      title="Kernel time by class"
      hint={`${time(answer.kernel_ns)} · unclassified ${share(unknown?.ratio ?? 0)}`}
      isOld={isOld}
    >
      <div className="class-bars">
        {answer.classes.map((part) => (
          <button
            key={part.name}
            type="button"
            className="class-bar"
            onClick={() => address.replace({ "kernels.group": "class" })}
          >
            <span className={part.name === "unclassified" ? "dim" : ""}>{part.name}</span>
            <span className="track">
              <i
                className={`k ${CATEGORY[part.name] ?? "compute"}`}
                style={{ width: `${(part.ns / most) * 100}%` }}
              />
            </span>
            <span className="num">{time(part.ns)}</span>
            <span className="num dim">{share(part.ratio)}</span>
          </button>
        ))}
      </div>
    </Panel>
  );
}
