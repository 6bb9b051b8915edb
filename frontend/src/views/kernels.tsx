/** What runs on the device, how well, and who launched it? */
import { toProblem } from "../api/problem";
import type { Kernels as Answer } from "../api/types.gen";
import { adoptStyles } from "../base/styles";
import { Hero } from "../components/hero";
import { ProblemNote } from "../components/problem_note";
import { ViewReading } from "../components/view_reading";
import tableCss from "../components/window_table.css?inline";
import { useValues } from "../state/environment";
import { useView } from "../state/queries";
import { Classes } from "./kernels/classes";
import { CopiesAndCores } from "./kernels/copies";
import { Fill } from "./kernels/fill";
import kernelsCss from "./kernels/kernels.css?inline";
import { KernelRows } from "./kernels/table_view";

adoptStyles(tableCss);
adoptStyles(kernelsCss);

function Figures({ answer, isOld, steps }: { answer: Answer; isOld: boolean; steps: string }) {
  return (
    <div className={isOld ? "stack stale" : "stack"}>
      <Hero headline={answer.headline} detail={answer.detail} />
      <div className="grid kernels-grid">
        <Classes answer={answer} isOld={isOld} />
        <Fill answer={answer} isOld={isOld} />
        <CopiesAndCores answer={answer} isOld={isOld} />
      </div>
      <KernelRows answer={answer} steps={steps} />
    </div>
  );
}

export default function Kernels() {
  const values = useValues();
  const steps = values["steps"] ?? "";
  const { data, isOld, reading, problem, again } = useView("kernels", { steps, limit: 200 });
  if (problem !== null) {
    return <ProblemNote problem={toProblem(problem)} again={again} />;
  }
  if (reading !== null) {
    return <ViewReading progress={reading} />;
  }
  return data === undefined ? (
    <div className="stack" aria-hidden="true">
      <div className="skeleton" style={{ height: 48 }} />
      <div className="skeleton" style={{ height: 240 }} />
      <div className="skeleton" style={{ height: 520 }} />
    </div>
  ) : (
    <Figures answer={data} isOld={isOld} steps={steps} />
  );
}
