/** Each series of values within the area. */
import type { AreaAnswer, AreaCounter } from "../../api/types.gen";
import { bytes, count, DASH, fixed, share } from "../../base/format";
import { harmless } from "../../base/shown_name";

function valueText(value: number | null, unit: string): string {
  if (value === null) {
    return DASH;
  }
  switch (unit) {
    case "bytes":
      return bytes(value);
    case "ratio":
      return share(value);
    default:
      return Number.isInteger(value) ? count(value) : fixed(value, 2);
  }
}

function changeText({ delta, unit }: AreaCounter): string {
  const text = valueText(delta, unit);
  return delta !== null && delta > 0 ? `+${text}` : text;
}

export function AreaCounters({ answer }: { answer: AreaAnswer }) {
  if (answer.counters.length === 0) {
    return <p className="tl-none ink2">This recording has no counters.</p>;
  }
  return (
    <div className="tl-grid-scroll">
      <table className="tl-counters">
        <thead>
          <tr>
            <th>Series</th>
            <th className="num">Min</th>
            <th className="num" title="Weighted by time">
              Mean
            </th>
            <th className="num">Max</th>
            <th className="num" title="From the start of the area to its end">
              Change
            </th>
          </tr>
        </thead>
        <tbody>
          {answer.counters.map((counter) => (
            <tr key={counter.series}>
              <td className="clip">
                <bdi>{harmless(counter.label, 100)}</bdi>
              </td>
              <td className="num">{valueText(counter.low, counter.unit)}</td>
              <td className="num">{valueText(counter.mean, counter.unit)}</td>
              <td className="num">{valueText(counter.high, counter.unit)}</td>
              <td className="num">{changeText(counter)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
