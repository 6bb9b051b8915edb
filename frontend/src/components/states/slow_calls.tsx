/** The slowest of a row, each a door into the Trace view, and the door to all of its name. */
import type { SlowCall } from "../../api/types.gen";
import { count, time } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { searched } from "../controls/search_field";
import { ViewLink } from "../controls/view_link";
import { Heading } from "../data_table/heading";
import { FirstFew } from "./first_few";

interface SlowCallsProps {
  readonly title: string;
  readonly name: string;
  readonly calls: readonly SlowCall[];
  /** How many calls the row has. */
  readonly total: number;
}

export function SlowCalls({ title, name, calls, total }: SlowCallsProps) {
  const all = (
    <ViewLink stem="timeline" params={{ find: searched(name) }}>
      Find all in Trace
    </ViewLink>
  );
  return (
    <section aria-label={title}>
      <h3>
        {title} <span className="dim">of {count(total)}</span>
      </h3>
      <FirstFew items={calls} total={total} beyond={all}>
        {(shown) => (
          <table className="plain">
            <thead>
              <tr>
                <Heading help="The step in which it began; leads to its place in Trace.">
                  Step
                </Heading>
                <Heading help="Thread or device.">Where</Heading>
                <Heading help="From its start to its end." className="num">
                  Duration
                </Heading>
              </tr>
            </thead>
            <tbody>
              {shown.map((one) => (
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
        )}
      </FirstFew>
      {total > calls.length ? null : <p>{all}</p>}
    </section>
  );
}
