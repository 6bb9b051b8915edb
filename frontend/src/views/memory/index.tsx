/** What fills the memory, when is it fullest, and does it grow? */
import { Fragment, useMemo, useState } from "react";
import type { Memory } from "../../api/types.gen";
import { adoptStyles } from "../../base/style/styles";
import { bytes } from "../../base/text/format";
import { Skeleton, ViewAnswer } from "../../components/states/answered";
import { Hero } from "../../components/text/hero";
import { type Cell, cell } from "../../state/cell";
import { useRegisterCommands } from "../../state/commands";
import { useValues } from "../../state/host/environment";
import { useViewKeys } from "../../state/keys";
import { AlivePanel } from "./alive/panel";
import { useChoice } from "./choice";
import { ComparePanel } from "./compare";
import type { Life } from "./curve/paint";
import { CurvePanel } from "./curve/panel";
import { Churn, FromStepToStep, HeadRoomPanel, SecondPeak } from "./facts";
import { ExactLines, Line } from "./line";
import { FreePanel } from "./map/free";
import { MapPanel } from "./map/panel";
import memoryCss from "./memory.css?inline";
import { Tables } from "./tables/panel";

adoptStyles(memoryCss);

/** The range is left with Esc, and zoomed with z, wherever the focus is. */
function useRangeKeys(choice: ReturnType<typeof useChoice>) {
  const { range, isZoomed, setRange, setZoomed } = choice;
  const hasRange = range !== null;
  useViewKeys({
    ...(hasRange ? { Escape: () => setRange(null) } : {}),
    ...(hasRange ? { z: () => setZoomed(!isZoomed) } : {}),
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: what they do follows from these
  const commands = useMemo(
    () => [
      {
        id: "memory.clear",
        title: "Clear the range",
        group: "Memory",
        keys: ["Esc"],
        run: () => setRange(null),
      },
      {
        id: "memory.zoom",
        title: "Zoom the curve to the range, or out",
        group: "Memory",
        keys: ["Z"],
        run: () => setZoomed(!isZoomed),
      },
    ],
    [isZoomed],
  );
  useRegisterCommands(commands);
}

/** What held most as an allocation failed. */
function Failure({ answer, choice }: { answer: Memory; choice: ReturnType<typeof useChoice> }) {
  const { failure } = answer;
  if (failure === null) {
    return null;
  }
  return (
    <>
      {failure.holders.length === 0 ? null : "Most was held by "}
      {failure.holders.map(({ line, bytes: held }, place) => (
        <Fragment key={line}>
          {place === 0 ? "" : ", "}
          {line === "" ? "code without a stack" : <Line text={line} />} ({bytes(held)})
        </Fragment>
      ))}
      {failure.holders.length === 0 ? null : ". "}
      <button type="button" className="link" onClick={() => choice.setAlive("time", failure.ts)}>
        What was alive then
      </button>
    </>
  );
}

function Figures({ answer, isOld }: { answer: Memory; isOld: boolean }) {
  const choice = useChoice();
  useRangeKeys(choice);
  const [cursor] = useState<Cell<number | null>>(() => cell<number | null>(null));
  const [life] = useState<Cell<Life | null>>(() => cell<Life | null>(null));
  const device = answer.devices.find(({ key }) => key === answer.device);
  if (device === undefined) {
    return <Hero headline={answer.headline} detail={answer.detail} />;
  }
  const noBlocks = device.missing["blocks"] ?? "";
  const instant =
    choice.aliveAt === "time"
      ? choice.instant
      : choice.aliveAt === "second"
        ? (answer.second?.ts ?? null)
        : null;
  return (
    <div className={isOld ? "stack stale" : "stack"}>
      <Hero headline={answer.headline} detail={answer.detail}>
        <Failure answer={answer} choice={choice} />
      </Hero>
      <CurvePanel
        answer={answer}
        isOld={isOld}
        choice={choice}
        device={device}
        cursor={cursor}
        life={life}
        instant={instant}
      />
      <div className={noBlocks === "" ? "mem-grid" : "mem-grid whole"}>
        <Tables answer={answer} choice={choice} life={life} noBlocks={noBlocks} />
        <AlivePanel answer={answer} isOld={isOld} choice={choice} noBlocks={noBlocks} />
      </div>
      <div className="mem-cards">
        <SecondPeak answer={answer} isOld={isOld} choice={choice} noBlocks={noBlocks} />
        <FromStepToStep answer={answer} isOld={isOld} choice={choice} />
        <div className="stack">
          <HeadRoomPanel answer={answer} isOld={isOld} device={device} />
          <Churn answer={answer} isOld={isOld} choice={choice} />
        </div>
      </div>
      {answer.is_snapshot ? (
        <FreePanel answer={answer} isOld={isOld} choice={choice} cursor={cursor} />
      ) : null}
      {answer.is_snapshot ? (
        <ComparePanel device={answer.device} isOld={isOld} choice={choice} />
      ) : null}
      <MapPanel answer={answer} isOld={isOld} noBlocks={noBlocks} />
    </div>
  );
}

/** The tables ask for their rows themselves. */
const NO_ROWS = 1;

export default function MemoryView() {
  const steps = useValues()["steps"] ?? "";
  const { device, by } = useChoice();
  return (
    <ViewAnswer
      stem="memory"
      query={{ steps, device, by, limit: NO_ROWS }}
      waiting={<Skeleton heights={[48, 420, 380]} />}
    >
      {(answer, isOld) => (
        <ExactLines value={answer.is_snapshot}>
          <Figures answer={answer} isOld={isOld} />
        </ExactLines>
      )}
    </ViewAnswer>
  );
}
