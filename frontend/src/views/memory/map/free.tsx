/** What is reserved and free, over time and by pool: of use to a large request, or not. */
import { useState } from "react";
import type { FreeMemoryAnswer, FreePool, Memory } from "../../../api/types.gen";
import { plainTable } from "../../../base/text/delimited";
import { bytes, count } from "../../../base/text/format";
import { CopyTable } from "../../../components/controls/copy_table";
import { Heading } from "../../../components/data_table/heading";
import { Answered } from "../../../components/states/answered";
import { FirstFew } from "../../../components/states/first_few";
import { Panel } from "../../../components/states/panel";
import { Prose } from "../../../components/text/prose";
import { type Cell, cell } from "../../../state/cell";
import { useAsked, usePart } from "../../../state/parts";
import { scopeOf, type useChoice } from "../choice";
import { Curve } from "../curve/curve";
import { CurveLegend } from "../curve/legend";
import type { Life } from "../curve/paint";

const toPlain = plainTable<FreePool>([
  "name",
  "is_private",
  "reserved_bytes",
  "free_bytes",
  "largest_bytes",
  "unusable_bytes",
  "pieces",
]);

function Pools({ pools }: Pick<FreeMemoryAnswer, "pools">) {
  return (
    <FirstFew items={pools} most={6}>
      {(shown) => (
        <table className="plain">
          <thead>
            <tr>
              <Heading help="Segments that the allocator keeps for requests of one kind.">
                Pool
              </Heading>
              <Heading help="Bytes that the pool holds on the device." className="num">
                Reserved
              </Heading>
              <Heading help="Of these, bytes that no block is in." className="num">
                Free
              </Heading>
              <Heading
                help="The largest free piece: a larger request needs new memory."
                className="num"
              >
                Largest piece
              </Heading>
              <Heading help="Free bytes outside of the largest piece." className="num">
                Unusable
              </Heading>
              <Heading help="How many free pieces there are." className="num">
                Pieces
              </Heading>
            </tr>
          </thead>
          <tbody>
            {shown.map((pool) => (
              <tr key={pool.name}>
                <td>{pool.name}</td>
                <td className="num">{bytes(pool.reserved_bytes)}</td>
                <td className="num">{bytes(pool.free_bytes)}</td>
                <td className="num">{bytes(pool.largest_bytes)}</td>
                <td className="num">{bytes(pool.unusable_bytes)}</td>
                <td className="num">{count(pool.pieces)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </FirstFew>
  );
}

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
  const pools = state.data?.pools ?? [];
  return (
    <Panel
      title="Reserved and free"
      isOld={isOld || state.isOld}
      controls={
        pools.length === 0 ? undefined : (
          <CopyTable label="the pools" table={() => toPlain(pools)} />
        )
      }
    >
      <Answered state={state}>
        {({ curve, pools: rows, sentence, missing }) =>
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
              <Pools pools={rows} />
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
