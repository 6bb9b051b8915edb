/** How fast could every kernel, op and module have been on this device? */
import type { SpeedOfLight, SpeedRow } from "../../api/types.gen";
import { share } from "../../base/text/format";
import { CopyTable } from "../../components/controls/copy_table";
import { DeclaredTable, declaredToPlain } from "../../components/data_table/declared";
import { Skeleton, ViewAnswer } from "../../components/states/answered";
import { Panel } from "../../components/states/panel";
import { Hero } from "../../components/text/hero";
import { useValues } from "../../state/host/environment";

/** MFU and HFU, where the device has a data sheet. */
function utilization({ mfu_ratio, hfu_ratio, at_least }: SpeedOfLight): string {
  const some = [
    ["MFU", mfu_ratio],
    ["HFU", hfu_ratio],
  ] as const;
  return some
    .flatMap(([name, ratio]) =>
      ratio === null ? [] : [`${name} ${at_least ? "at least " : ""}${share(ratio)}`],
    )
    .join(", ");
}

export default function SpeedOfLightView() {
  const steps = useValues()["steps"] ?? "";
  return (
    <ViewAnswer
      stem="speed_of_light"
      query={{ steps }}
      waiting={<Skeleton heights={[48, 240, 520]} />}
    >
      {(answer, isOld) => (
        <div className={isOld ? "stack stale" : "stack"}>
          <Hero headline={answer.headline} detail={answer.detail} />
          {answer.parts.length > 0 && (
            <Panel title="Steps" hint={utilization(answer)} isOld={isOld}>
              <DeclaredTable
                heads={answer.parts_columns}
                rows={answer.parts}
                keyOf={({ key }) => key}
              />
            </Panel>
          )}
          <Panel
            title="Ops"
            hint="the largest waste first"
            isOld={isOld}
            controls={
              <CopyTable
                label="the ops"
                table={() => declaredToPlain<SpeedRow>(answer.table.columns)(answer.table.rows)}
              />
            }
          >
            <DeclaredTable
              heads={answer.table.columns}
              rows={answer.table.rows}
              keyOf={({ name }) => name}
            />
          </Panel>
          {answer.reasons.length > 0 && (
            <Panel title="Without a figure" isOld={isOld}>
              <DeclaredTable
                heads={answer.reasons_columns}
                rows={answer.reasons}
                keyOf={({ reason }) => reason}
              />
            </Panel>
          )}
        </div>
      )}
    </ViewAnswer>
  );
}
