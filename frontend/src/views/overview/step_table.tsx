/** Every step as a table: the chart's alternative. */
import type { StepRow } from "../../api/types.gen";
import { inScale, type Scale } from "../../base/format";
import { roundToSum } from "../../base/rounding";
import { oneStep } from "../../base/steps";
import { Swatch } from "../../components/category";
import { ViewLink } from "../../components/view_link";
import { usePage } from "../../state/page_context";
import { isRemainder } from "./parts";
import type { StepParts } from "./step_parts";

interface StepTableProps {
  readonly parts: StepParts;
  readonly steps: readonly StepRow[];
  readonly scale: Scale;
  readonly onStep: (step: StepRow) => void;
}

function noteOf(step: StepRow): string {
  return [step.excluded ?? "", step.outlier ? "outlier" : ""].filter(Boolean).join(", ");
}

export function StepTable({ parts, steps, scale, onStep }: StepTableProps) {
  const slack = parts.kinds.findIndex(isRemainder);
  const hasTrace = usePage().titles.has("timeline");
  return (
    <div className="scroll step-table">
      <table>
        <caption className="label">{parts.title}</caption>
        <thead>
          <tr>
            <th>Step</th>
            <th className="num">Length, {scale.unit.name}</th>
            {parts.kinds.map((kind) => (
              <th key={kind.key} className="num" title={kind.help}>
                <Swatch category={kind.category} ghost={kind.ghost} /> {kind.label}
              </th>
            ))}
            {hasTrace ? <th>Trace</th> : null}
            <th>Note</th>
          </tr>
        </thead>
        <tbody>
          {steps.map((step) => {
            const quantum = scale.unit.size * 10 ** -scale.decimals;
            const values = roundToSum(parts.valuesOf(step), quantum, { slack });
            return (
              <tr key={step.index} className={step.chosen ? "" : "dim"}>
                <th scope="row">
                  <button type="button" className="link" onClick={() => onStep(step)}>
                    {step.number}
                  </button>
                </th>
                <td className="num strong">{inScale(step.dur_ns, scale)}</td>
                {values.map((value, place) => (
                  <td key={parts.kinds[place]?.key} className="num">
                    {value === 0 ? "0" : inScale(value, scale)}
                  </td>
                ))}
                {hasTrace ? (
                  <td>
                    <ViewLink stem="timeline" params={{ steps: oneStep(steps, step.index) }}>
                      show
                    </ViewLink>
                  </td>
                ) : null}
                <td className="dim">{noteOf(step)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
