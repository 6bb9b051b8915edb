/** The slowest of a row, each a door into the Trace view, and the door to all of its name. */
import type { SlowCall } from "../../api/types.gen";
import { time } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { ViewLink } from "../controls/view_link";

const SHOWN = 8;

interface SlowCallsProps {
  readonly title: string;
  readonly name: string;
  readonly calls: readonly SlowCall[];
}

export function SlowCalls({ title, name, calls }: SlowCallsProps) {
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <table className="plain">
        <tbody>
          {calls.slice(0, SHOWN).map((one) => (
            <tr key={one.slice}>
              <td>
                <ViewLink stem="timeline" params={{ select: String(one.slice) }}>
                  {one.step === "" ? "outside steps" : harmless(one.step)}
                </ViewLink>
              </td>
              <td className="dim clip" title={harmless(one.thread)}>
                {harmless(one.thread)}
              </td>
              <td className="num">{time(one.dur_ns)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p>
        <ViewLink stem="timeline" params={{ find: name }}>
          Find all in Trace
        </ViewLink>
      </p>
    </section>
  );
}
