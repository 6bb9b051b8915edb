/** Four bars: who takes the self and the total time, on the device and on the host. */

import { useId } from "react";
import type { OperatorRow, Operators, ShareChart } from "../../api/types.gen";
import { count, plural, share, time } from "../../base/text/format";
import { harmless, NO_NAME, nameParts } from "../../base/text/shown_name";
import { CopyTable } from "../../components/controls/copy_table";
import { searched } from "../../components/controls/search_field";
import { Select } from "../../components/controls/select";
import { viewPatch } from "../../components/controls/view_link";
import type { PerStep } from "../../components/data_table/per_step";
import { Menu, MenuItem } from "../../components/overlays/menu";
import { Tip } from "../../components/overlays/tip";
import { Answered } from "../../components/states/answered";
import { Panel } from "../../components/states/panel";
import { CodeName } from "../../components/text/code_name";
import { useAddress, useValues } from "../../state/host/environment";
import { useAsked, usePart } from "../../state/parts";

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

/** The column of the table that a chart shows. */
const COLUMN = {
  device_self: "device_self_ns",
  device_total: "device_total_ns",
  host_self: "self_ns",
  host_total: "total_ns",
} as const satisfies Readonly<Record<ShareChart["stem"], keyof OperatorRow>>;

const LISTED_MAX = 100;

/** The part of all self time; of calls that lie inside calls, whose sum is more than that, their time alone. */
const partWords = (ns: number, ratio: number) => (ratio > 1 ? time(ns) : share(ratio));
const timeAndPart = (ns: number, ratio: number) =>
  [time(ns), ...(ratio > 1 ? [] : [share(ratio)])].join(" · ");

/** The operators that the bar has no room for, the largest first; each filters the table. */
function RestList({ chart, steps, perStep }: RestProps) {
  const address = useAddress();
  const column = COLUMN[chart.stem];
  const state = usePart("operators/table", useAsked(), {
    steps,
    kinds: "op",
    sort_by: column,
    offset: chart.parts.length,
    limit: Math.min(LISTED_MAX, chart.rest_count),
  });
  const ofStep = (ns: number) =>
    timeAndPart(ns / perStep.steps, ns / perStep.steps / chart.total_ns);
  return (
    <Answered state={state}>
      {(data) => (
        <>
          <p className="empty">
            {plural(chart.rest_count, "operator")} more:{" "}
            {timeAndPart(chart.rest_ns, chart.rest_ns / chart.total_ns)}
          </p>
          {data.rows.map((row) => (
            <MenuItem
              key={row.key}
              words={<CodeName name={row.name} />}
              hint={ofStep(row[column] ?? 0)}
              run={() => address.replace({ "operators.search": row.name })}
            />
          ))}
          <MenuItem
            words={`${chart.rest_count > data.rows.length ? `${count(chart.rest_count - data.rows.length)} more: ` : ""}Show all of them in the table, in this order`}
            run={() =>
              address.replace({
                "operators.search": undefined,
                "operators.kinds": "op",
                "operators.sort": column,
                "operators.up": undefined,
                "operators.mode": undefined,
              })
            }
          />
        </>
      )}
    </Answered>
  );
}

interface RestProps {
  /** Its times are those of one step, where these are chosen. */
  readonly chart: ShareChart;
  readonly steps: string;
  readonly perStep: PerStep;
}

/** What the bar does not name, as its last part: it opens the list of it. */
function Rest({ chart, ...rest }: RestProps) {
  const ratio = chart.rest_ns / chart.total_ns;
  const words = `${count(chart.rest_count)} more`;
  return (
    <span className="rest" style={{ flexGrow: ratio }} title={`${words}: ${time(chart.rest_ns)}`}>
      <Menu
        className="rest-button"
        label={`${chart.title}: ${words}, ${share(ratio)}`}
        button={ratio >= WORDS_MIN ? <span>{words}</span> : <span>…</span>}
      >
        <RestList chart={chart} {...rest} />
      </Menu>
    </span>
  );
}

function Bar({ chart, hue, ...rest }: RestProps & { readonly hue: string }) {
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
          title={`${harmless(part.name) || NO_NAME}: ${timeAndPart(part.ns, part.ratio)}`}
          aria-label={`${harmless(part.name) || NO_NAME}: ${partWords(part.ns, part.ratio)}`}
          onClick={() =>
            // A graph is no operator: what ran in it is for the Kernel view.
            part.name.includes("GraphLaunch")
              ? address.navigate(viewPatch("kernels"))
              : address.replace({ "operators.search": searched(part.name) })
          }
        >
          {part.ratio >= WORDS_MIN ? (
            <span>
              <bdi>{nameParts(part.name.replace(/^aten::/, "")).base || NO_NAME}</bdi>{" "}
              <span>{partWords(part.ns, part.ratio)}</span>
            </span>
          ) : null}
        </button>
      ))}
      {chart.rest_ns > 0 ? <Rest chart={chart} {...rest} /> : null}
      {chart.others_ns > 0 ? (
        <span
          className="others"
          style={{ flexGrow: chart.others_ns / chart.total_ns }}
          title={`Outside of operators: ${timeAndPart(chart.others_ns, chart.others_ns / chart.total_ns)}`}
        >
          {chart.others_ns / chart.total_ns >= WORDS_MIN ? (
            <span>
              <span>outside of operators</span>
            </span>
          ) : null}
        </span>
      ) : null}
    </div>
  );
}

export const PARTS_USUAL = 10;
const PARTS = [5, PARTS_USUAL, 20, 50] as const;

/** How many operators each bar names, as the address says it. */
export function partsOf(text: string | undefined): number {
  return PARTS.find((parts) => `${parts}` === text) ?? PARTS_USUAL;
}

function PartsMenu() {
  const address = useAddress();
  const id = useId();
  const parts = partsOf(useValues()["operators.parts"]);
  return (
    <label className="row hint" htmlFor={id}>
      Named in each bar
      <Select
        id={id}
        options={PARTS.map((known) => [`${known}`, `${known}`])}
        value={`${parts}`}
        onChange={(next) =>
          address.replace({ "operators.parts": next === `${PARTS_USUAL}` ? undefined : next })
        }
      />
    </label>
  );
}

const sharesTable = (charts: readonly ShareChart[]) => ({
  header: ["chart", "name", "ns", "ratio"],
  rows: charts.flatMap(({ title, parts, rest_ns, others_ns, total_ns }) => [
    ...parts.map(({ name, ns, ratio }) => [title, name, ns, ratio]),
    [title, "more operators", rest_ns, total_ns > 0 ? rest_ns / total_ns : 0],
    [title, "outside of operators", others_ns, total_ns > 0 ? others_ns / total_ns : 0],
  ]),
});

interface SharesProps {
  readonly answer: Operators;
  readonly isOld: boolean;
  readonly steps: string;
  readonly perStep: PerStep;
}

/** The same shares of one step. */
const chartOfStep = (chart: ShareChart, steps: number): ShareChart => ({
  ...chart,
  total_ns: chart.total_ns / steps,
  rest_ns: chart.rest_ns / steps,
  others_ns: chart.others_ns / steps,
  parts: chart.parts.map((part) => ({ ...part, ns: part.ns / steps })),
});

export function Shares({ answer, isOld, steps, perStep }: SharesProps) {
  return (
    <Panel
      title="Shares"
      hint={`${perStep.words === "" ? plural(answer.step_count, "step") : "per step"} · device time is summed by launching operator`}
      isOld={isOld}
      controls={
        <>
          <PartsMenu />
          <CopyTable label="the shares" table={() => sharesTable(answer.charts)} />
        </>
      }
    >
      <div className="shares">
        {answer.charts
          .map((one) => chartOfStep(one, perStep.steps))
          .map((chart) => (
            <div key={chart.stem} className="share-row">
              <Tip text={chart.definition} className="">
                {chart.title}
              </Tip>
              <span className="num">
                {chart.stem.endsWith("total") ? (
                  <Tip text="Shares are of the self time of everything in the chosen steps. A call inside another counts in both, so the shares add up to more than 100 %.">
                    nested
                  </Tip>
                ) : (
                  time(chart.total_ns)
                )}
              </span>
              <Bar
                chart={chart}
                hue={chart.stem.startsWith("device") ? "--k-compute" : "--k-cpu"}
                steps={steps}
                perStep={perStep}
              />
            </div>
          ))}
      </div>
    </Panel>
  );
}
