/** The execution summary: the mean step by the classic categories. */

import type { SummaryRow } from "../../api/types.gen";
import { plainTable } from "../../base/text/delimited";
import { inScale, share, timeScale } from "../../base/text/format";
import { roundToSum } from "../../base/text/rounding";
import { Swatch } from "../../components/charts/category";
import { CopyTable } from "../../components/controls/copy_table";
import { Tip } from "../../components/overlays/tip";
import { Panel } from "../../components/states/panel";
import { Paragraph } from "../../components/text/prose";
import { isRemainder } from "./parts";

interface ShownRow extends SummaryRow {
  readonly time: string;
  readonly percent: string;
}

/** Rounds the categories so that they add up to the step above them. */
export function shownRows(rows: readonly SummaryRow[]): ShownRow[] {
  const [whole, ...parts] = rows;
  if (whole === undefined) {
    return [];
  }
  const scale = timeScale(whole.mean_ns);
  const slack = parts.findIndex(isRemainder);
  const times = roundToSum(
    parts.map((row) => row.mean_ns),
    scale.unit.size * 10 ** -scale.decimals,
    { slack },
  );
  const ratios = roundToSum(
    parts.map((row) => row.ratio),
    1e-4,
    { slack },
  );
  const tiny = (value: number, rounded: number) => value > 0 && rounded === 0;
  const shown = parts.map((row, place) => {
    const [ns, ratio] = [times[place] ?? 0, ratios[place] ?? 0];
    return {
      ...row,
      time: tiny(row.mean_ns, ns)
        ? `< ${inScale(scale.unit.size * 10 ** -scale.decimals, scale)}`
        : row.mean_ns === 0
          ? "0"
          : inScale(ns, scale),
      percent: share(ratio === 0 ? Math.min(row.ratio, 0.4e-4) : ratio, 2),
    };
  });
  return [
    { ...whole, time: inScale(whole.mean_ns, scale), percent: share(whole.ratio, 0) },
    ...shown,
  ];
}

const toTable = plainTable<SummaryRow>([["category", ({ label }) => label], "mean_ns", "ratio"]);

interface SummaryProps {
  readonly rows: readonly SummaryRow[];
  /** Which categories this recording cannot tell, and why; undefined = it tells all. */
  readonly missing: string | undefined;
  readonly isOld: boolean;
}

export function Summary({ rows, missing, isOld }: SummaryProps) {
  const shown = shownRows(rows).filter(({ mean_ns }, place) => place === 0 || mean_ns > 0);
  const unit = timeScale(rows[0]?.mean_ns ?? 0).unit.name;
  return (
    <Panel
      title="Execution summary"
      hint={unit}
      isOld={isOld}
      hasBody={false}
      controls={<CopyTable label="the execution summary" table={() => toTable(rows)} />}
    >
      <table className="plain summary">
        <thead className="unseen">
          <tr>
            <th>Category</th>
            <th>Time</th>
            <th>Share</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((row, place) => (
            <tr key={row.key} className={place === 0 ? "total" : ""}>
              <th scope="row">
                <span className="row">
                  {place === 0 ? null : <Swatch category={row.category} />}
                  <Tip text={row.help} className="">
                    {row.label}
                  </Tip>
                </span>
              </th>
              <td className="num">{row.time}</td>
              <td className="num">{row.percent}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {missing === undefined ? null : <Paragraph className="body ink2 small" text={missing} />}
    </Panel>
  );
}
