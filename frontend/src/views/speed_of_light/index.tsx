/** How fast could every kernel, op and module have been on this device? */
import { useEffect, useRef, useState } from "react";
import type { SpeedOfLight, SpeedPart, SpeedQuery } from "../../api/types.gen";
import { adoptStyles } from "../../base/style/styles";
import { LightBar, utilizationWords } from "../../components/charts/light_bar";
import { CopyTable } from "../../components/controls/copy_table";
import { Segmented } from "../../components/controls/segmented";
import { DeclaredTable, declaredToPlain } from "../../components/data_table/declared";
import { Skeleton, ViewAnswer } from "../../components/states/answered";
import { Panel } from "../../components/states/panel";
import { CodeName } from "../../components/text/code_name";
import { Hero } from "../../components/text/hero";
import { useAddress, useValues } from "../../state/host/environment";
import { Roofline } from "./roofline";
import speedCss from "./speed_of_light.css?inline";

adoptStyles(speedCss);

const GROUPS = [
  ["op", "Ops"],
  ["kernel", "Kernels"],
  ["module", "Modules"],
  ["kind", "Shapes"],
] as const;
type Group = (typeof GROUPS)[number][0];

const toGroup = (text: string | undefined): Group =>
  GROUPS.find(([group]) => group === text)?.[0] ?? "op";

/** The name of a row, which a press in the roofline leads to. */
function RowName({ name, isPicked }: { name: string; isPicked: boolean }) {
  const place = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    if (isPicked) {
      place.current?.scrollIntoView({ block: "center" });
    }
  }, [isPicked]);
  return (
    <span ref={place} className="speed-row" aria-current={isPicked}>
      <CodeName name={name} />
    </span>
  );
}

interface FiguresProps {
  readonly answer: SpeedOfLight;
  readonly group: Group;
  readonly isOld: boolean;
}

function Figures({ answer, group, isOld }: FiguresProps) {
  const address = useAddress();
  const [picked, setPicked] = useState<string | null>(null);
  const { table, roofline, ranking, reasons } = answer;
  const drawn = roofline === null || roofline.points.length === 0 ? null : roofline;
  // Ops of the CPU launch no kernels.
  const groups = GROUPS.filter(([key]) => key !== "kernel" || answer.under_others_ns !== null);
  const chooser = (
    <Segmented
      label="Rows"
      options={groups}
      value={group}
      onChange={(next) =>
        address.replace({ "speed_of_light.group_by": next === "op" ? undefined : next })
      }
    />
  );
  return (
    <div className={isOld ? "stack stale" : "stack"}>
      <Hero headline={answer.headline} detail={answer.detail} />
      {answer.parts.length > 0 && (
        <Panel
          title="Steps"
          hint={utilizationWords(answer)}
          isOld={isOld}
          controls={
            <CopyTable
              label="the steps"
              table={() => declaredToPlain<SpeedPart>(answer.parts_columns)(answer.parts)}
            />
          }
        >
          <LightBar parts={answer.parts} />
        </Panel>
      )}
      {drawn === null ? null : (
        <Panel
          title="Roofline"
          {...(answer.source === "measured" ? { hint: "rates that this CPU reached" } : {})}
          isOld={isOld}
          controls={chooser}
        >
          <Roofline roofline={drawn} picked={picked} onPick={setPicked} />
        </Panel>
      )}
      {ranking.length > 0 && (
        <Panel title="Above light" hint="adds up to the steps minus light" isOld={isOld}>
          <DeclaredTable
            label="above light"
            heads={answer.ranking_columns}
            rows={ranking}
            most={8}
            keyOf={({ key, name }) => `${key} ${name}`}
          />
        </Panel>
      )}
      <Panel
        title={GROUPS.find(([key]) => key === group)?.[1] ?? ""}
        hint={table.sort_by === "waste_ns" ? "the largest waste first" : "the longest first"}
        isOld={isOld}
        controls={drawn === null ? chooser : null}
      >
        <div className="scroll speed-rows">
          <DeclaredTable
            key={picked === null ? "few" : "all"}
            label="the rows"
            heads={table.columns}
            rows={table.rows}
            {...(picked === null ? {} : { most: table.rows.length })}
            keyOf={({ name, shapes, calls, measured_ns }) =>
              `${name} ${shapes} ${calls} ${measured_ns}`
            }
            cells={{ name: ({ name }) => <RowName name={name} isPicked={name === picked} /> }}
          />
        </div>
      </Panel>
      {reasons.length > 0 && (
        <Panel title="Without a figure" isOld={isOld}>
          <DeclaredTable
            label="time without a figure"
            heads={answer.reasons_columns}
            rows={reasons}
            keyOf={({ reason }) => reason}
          />
        </Panel>
      )}
    </div>
  );
}

export default function SpeedOfLightView() {
  const values = useValues();
  const group = toGroup(values["speed_of_light.group_by"]);
  const query: SpeedQuery = {
    steps: values["steps"] ?? "",
    ...(values["device"] === undefined ? {} : { device: values["device"] }),
    ...(group === "op" ? {} : { group_by: group }),
  };
  return (
    <ViewAnswer stem="speed_of_light" query={query} waiting={<Skeleton heights={[48, 240, 520]} />}>
      {(answer, isOld) => <Figures answer={answer} group={group} isOld={isOld} />}
    </ViewAnswer>
  );
}
