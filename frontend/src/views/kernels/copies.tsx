/** Tensor cores, and copies with their rates. */
import type { Kernels } from "../../api/types.gen";
import { bytes, count, DASH, fixed, share, time } from "../../base/format";
import { harmless } from "../../base/shown_name";
import { Swatch } from "../../components/category";
import { Panel } from "../../components/panel";
import { Tip } from "../../components/tip";
import { ViewLink } from "../../components/view_link";

/** Bytes per second as people compare them: decimal. */
const rate = (perSecond: number) => fixed(perSecond / 1e9, perSecond < 99.5e9 ? 1 : 0);

export function CopiesAndCores({ answer, isOld }: { answer: Kernels; isOld: boolean }) {
  const { tensor_core, kernel_ns, copies, definitions } = answer;
  const used = tensor_core["yes"] ?? 0;
  const unknown = tensor_core["unknown"] ?? 0;
  const candidates = kernel_ns - (tensor_core["none"] ?? 0);
  const part = (ns: number) => (candidates > 0 ? ns / candidates : 0);
  return (
    <Panel title="Tensor cores and copies" isOld={isOld}>
      <div className="cores">
        <p>
          <Tip text={definitions["tensor_core_share"] ?? ""}>Tensor-core share</Tip>
          <b className="num">{candidates > 0 ? share(part(used)) : DASH}</b>
        </p>
        <div className="track" aria-hidden="true">
          <i className="k compute" style={{ width: `${part(used) * 100}%` }} />
          <i className="k other" style={{ width: `${part(unknown) * 100}%`, opacity: 0.4 }} />
        </div>
        <p className="hint">
          {candidates <= 0
            ? "No compute kernel ran."
            : unknown > 0
              ? `of ${time(candidates)} of compute kernels; unknown for ${share(part(unknown))}`
              : `of ${time(candidates)} of compute kernels, known for all`}
        </p>
      </div>
      {copies.length === 0 ? (
        <p className="dim">No copy ran in the chosen steps.</p>
      ) : (
        <table className="plain">
          <thead>
            <tr>
              <th>Copies and sets</th>
              <th className="num">Calls</th>
              <th className="num">Time</th>
              <th className="num">Size</th>
              <th className="num">GB/s</th>
            </tr>
          </thead>
          <tbody>
            {copies.slice(0, 8).map((row) => (
              <tr key={row.name}>
                <td className="clip" title={harmless(row.name)}>
                  <Swatch category={/memset|fill/i.test(row.name) ? "memset" : "memcpy"} />{" "}
                  <ViewLink stem="timeline" params={{ select: String(row.longest) }}>
                    {harmless(row.direction)}
                  </ViewLink>
                </td>
                <td className="num">{count(row.calls)}</td>
                <td className="num">{time(row.total_ns)}</td>
                <td className="num">{row.bytes === null ? DASH : bytes(row.bytes)}</td>
                <td className="num">{row.bandwidth === null ? DASH : rate(row.bandwidth)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
}
