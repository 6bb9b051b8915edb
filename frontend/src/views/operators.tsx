/** Which operations take the time, and who calls them? */
import { toProblem } from "../api/problem";
import type { Operators as Answer } from "../api/types.gen";
import { adoptStyles } from "../base/styles";
import { Hero } from "../components/hero";
import { ProblemNote } from "../components/problem_note";
import { Segmented } from "../components/segmented";
import { ViewReading } from "../components/view_reading";
import tableCss from "../components/window_table.css?inline";
import { useAddress, useValues } from "../state/environment";
import { useView } from "../state/queries";
import { FlameView } from "./operators/flame_view";
import operatorsCss from "./operators/operators.css?inline";
import { partsOf, Shares } from "./operators/shares";
import { Skeleton } from "./operators/skeleton";
import { OperatorRows } from "./operators/table_view";
import { Unattributed } from "./operators/unattributed";

adoptStyles(tableCss);
adoptStyles(operatorsCss);

const MODES = [
  ["table", "Table"],
  ["flame", "Flame graph"],
] as const;
type Mode = (typeof MODES)[number][0];

function Figures({ answer, isOld, steps }: { answer: Answer; isOld: boolean; steps: string }) {
  const address = useAddress();
  const mode: Mode = useValues()["operators.mode"] === "flame" ? "flame" : "table";
  const modes = (
    <Segmented
      label="Show as"
      options={MODES}
      value={mode}
      onChange={(next) =>
        address.replace({ "operators.mode": next === "flame" ? next : undefined })
      }
    />
  );
  return (
    <div className={isOld ? "stack stale" : "stack"}>
      <Hero headline={answer.headline} detail={answer.detail} />
      {answer.charts.some((chart) => chart.total_ns > 0) ? (
        <Shares answer={answer} isOld={isOld} steps={steps} />
      ) : null}
      {mode === "flame" ? (
        <FlameView steps={steps} hasDevice={answer.device_ns !== null} modes={modes} />
      ) : (
        <OperatorRows answer={answer} steps={steps} modes={modes} />
      )}
      <Unattributed answer={answer} />
    </div>
  );
}

export default function Operators() {
  const values = useValues();
  const steps = values["steps"] ?? "";
  const { data, isOld, reading, problem, again } = useView("operators", {
    steps,
    kinds: "op",
    limit: 1,
    parts: partsOf(values["operators.parts"]),
  });
  if (problem !== null) {
    return <ProblemNote problem={toProblem(problem)} again={again} />;
  }
  if (reading !== null) {
    return <ViewReading progress={reading} />;
  }
  return data === undefined ? <Skeleton /> : <Figures answer={data} isOld={isOld} steps={steps} />;
}
