/** Which modules ran, what did each cost, and what belongs to none? */
import type { Modules } from "../../api/types.gen";
import { adoptStyles } from "../../base/style/styles";
import { usePerStep } from "../../components/data_table/per_step";
import { Skeleton, ViewAnswer } from "../../components/states/answered";
import { Hero } from "../../components/text/hero";
import { useValues } from "../../state/host/environment";
import { Icicle } from "./icicle";
import modulesCss from "./modules.css?inline";
import { Sum, TreeTable } from "./tree_table";

adoptStyles(modulesCss);

export default function ModulesView() {
  const steps = useValues()["steps"] ?? "";
  return (
    <ViewAnswer stem="modules" query={{ steps }} waiting={<Skeleton heights={[48, 240, 520]} />}>
      {(answer, isOld) => <Figures answer={answer} steps={steps} isOld={isOld} />}
    </ViewAnswer>
  );
}

interface FiguresProps {
  readonly answer: Modules;
  readonly steps: string;
  readonly isOld: boolean;
}

function Figures(props: FiguresProps) {
  const { answer, isOld } = props;
  const perStep = usePerStep(answer.table.step_count);
  return (
    <div className={isOld ? "stack stale" : "stack"}>
      <Hero headline={answer.headline} detail={answer.detail} />
      <Sum answer={answer} perStep={perStep} />
      <Icicle {...props} perStep={perStep} />
      <TreeTable {...props} perStep={perStep} />
    </div>
  );
}
