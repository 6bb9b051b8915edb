/** Which modules ran, what did each cost, and what belongs to none? */
import { adoptStyles } from "../../base/style/styles";
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
      {(answer, isOld) => (
        <div className={isOld ? "stack stale" : "stack"}>
          <Hero headline={answer.headline} detail={answer.detail}>
            <Sum answer={answer} />
          </Hero>
          <Icicle answer={answer} steps={steps} isOld={isOld} />
          <TreeTable answer={answer} steps={steps} isOld={isOld} />
        </div>
      )}
    </ViewAnswer>
  );
}
