/** What is reserved and free, over time and by pool: of use to a large request, or not. */
import { useState } from "react";
import type { Memory } from "../../../api/types.gen";
import { count } from "../../../base/text/format";
import { DeclaredTable } from "../../../components/data_table/declared";
import { Answered } from "../../../components/states/answered";
import { Panel } from "../../../components/states/panel";
import { Prose } from "../../../components/text/prose";
import { type Cell, cell } from "../../../state/cell";
import { useAsked, usePart } from "../../../state/parts";
import { scopeOf, type useChoice } from "../choice";
import { Curve } from "../curve/curve";
import { CurveLegend } from "../curve/legend";
import type { Life } from "../curve/paint";

interface FreePanelProps {
  readonly answer: Memory;
  readonly isOld: boolean;
  readonly choice: ReturnType<typeof useChoice>;
  readonly cursor: Cell<number | null>;
}

/** Only a memory snapshot has segments, and so a place for what is free. */
export function FreePanel({ answer, isOld, choice, cursor }: FreePanelProps) {
  const { range, isZoomed } = choice;
  const state = usePart("memory/free", useAsked(), scopeOf(answer, isZoomed ? range : null), true);
  const [active, setActive] = useState<string | null>(null);
  const [life] = useState<Cell<Life | null>>(() => cell<Life | null>(null));
  return (
    <Panel title="Reserved and free" isOld={isOld || state.isOld}>
      <Answered state={state}>
        {({ curve, columns: heads, pools: rows, sentence, missing }) =>
          missing === "" ? (
            <>
              <p>
                <Prose text={sentence} />
              </p>
              <CurveLegend
                curve={curve}
                shares={[]}
                active={active}
                onActive={setActive}
                cursor={cursor}
              />
              <Curve
                curve={curve}
                steps={answer.steps}
                capacity={null}
                active={active}
                range={range}
                onRange={choice.setRange}
                instant={null}
                onInstant={(at) => choice.setAlive("time", at)}
                cursor={cursor}
                life={life}
              />
              <DeclaredTable
                label="the pools"
                heads={heads}
                rows={rows}
                most={6}
                keyOf={({ name }) => name}
              />
              <p className="hint">
                A request takes one free piece of its own pool. Unusable: what is free and not in
                the largest piece of its pool.
                {curve.is_exact ? "" : ` Looked at ${count(curve.events)} instants.`}
              </p>
            </>
          ) : (
            <p className="ink2">
              Not available. <Prose text={missing} />
            </p>
          )
        }
      </Answered>
    </Panel>
  );
}
