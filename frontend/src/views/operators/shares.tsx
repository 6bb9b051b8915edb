/** Four bars: who takes the self and the total time, on the device and on the host. */
import type { Operators, ShareChart } from "../../api/types.gen";
import { plural, share, time } from "../../base/format";
import { harmless, nameParts } from "../../base/shown_name";
import { Panel } from "../../components/panel";
import { Tip } from "../../components/tip";
import { useAddress } from "../../state/environment";

/**
 * Lightness steps of one hue, in percent over the surface. The light hue leaves out the middle,
 * where neither dark nor light ink can be read.
 */
const STEPS: Readonly<Record<string, readonly number[]>> = {
  "--k-compute": [92, 70, 54, 42, 34, 28, 23, 19, 16, 13],
  "--k-cpu": [92, 74, 38, 32, 28, 24, 20, 17, 14, 12],
};
const WORDS_MIN = 0.05;

/** The light hue takes dark ink in both themes, the darkest step of the other one the theme's own. */
function inkOn(hue: string, place: number): string {
  if (hue === "--k-compute") {
    return place < 1 ? "var(--ink-on-fill)" : "var(--ink)";
  }
  return place < 2 ? "#0d1014" : "var(--ink)";
}

function Bar({ chart, hue }: { chart: ShareChart; hue: string }) {
  const address = useAddress();
  return (
    <div className="share-bar">
      {chart.parts.map((part, place) => (
        <button
          key={part.name}
          type="button"
          style={{
            flexGrow: part.ratio,
            background: `color-mix(in srgb, var(${hue}) ${STEPS[hue]?.[place] ?? 10}%, var(--surface))`,
            color: inkOn(hue, place),
          }}
          title={`${harmless(part.name)}: ${time(part.ns)}, ${share(part.ratio)}`}
          aria-label={`${harmless(part.name)}: ${share(part.ratio)}`}
          onClick={() => address.replace({ "operators.search": part.name })}
        >
          {part.ratio >= WORDS_MIN ? (
            <span>
              <bdi>{nameParts(part.name.replace(/^aten::/, "")).base}</bdi>{" "}
              <span>{share(part.ratio)}</span>
            </span>
          ) : null}
        </button>
      ))}
      {chart.rest_ns > 0 ? (
        <span
          className="rest"
          style={{ flexGrow: chart.rest_ns / chart.total_ns }}
          title={`${plural(chart.rest_count, "operator")} more: ${time(chart.rest_ns)}`}
        >
          {chart.rest_ns >= WORDS_MIN * chart.total_ns ? (
            <span>{`${chart.rest_count} more`}</span>
          ) : null}
        </span>
      ) : null}
    </div>
  );
}

export function Shares({ answer, isOld }: { answer: Operators; isOld: boolean }) {
  return (
    <Panel
      title="Shares"
      hint={`${plural(answer.step_count, "step")} · device time is summed by launching operator`}
      isOld={isOld}
    >
      <div className="shares">
        {answer.charts.map((chart) => (
          <div key={chart.stem} className="share-row">
            <Tip text={chart.definition} className="">
              {chart.title}
            </Tip>
            <span className="num">
              {chart.stem.endsWith("total") ? (
                <Tip text="Calls inside calls count in both, so these do not add up to a whole.">
                  nested
                </Tip>
              ) : (
                time(chart.total_ns)
              )}
            </span>
            <Bar chart={chart} hue={chart.stem.startsWith("device") ? "--k-compute" : "--k-cpu"} />
          </div>
        ))}
      </div>
    </Panel>
  );
}
