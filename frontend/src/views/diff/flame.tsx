/** One flame graph of both recordings: the width of a box is both together, its colour the change. */
import { useMemo, useState } from "react";
import type { DiffBox, DiffFlame, DiffFlameQuery, DiffQuery, Flame } from "../../api/types.gen";
import { change, count, fixed, MINUS, time } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { Segmented } from "../../components/controls/segmented";
import { FlameGraph, type FlameTint } from "../../components/flame_graph/flame_graph";
import { matches } from "../../components/overlays/option_list";
import { Answered } from "../../components/states/answered";
import { useAddress, useValues } from "../../state/host/environment";
import { useAsked, usePart } from "../../state/parts";
import { percent } from "./figures";

type Metric = NonNullable<DiffFlameQuery["metric"]>;

/** Both as one tree: a box weighs what it takes in A and in B together, so that boxes add up. */
export function together(answer: DiffFlame): Flame {
  const inside = new Map<number, number>();
  for (const box of answer.boxes) {
    inside.set(box.parent, (inside.get(box.parent) ?? 0) + box.base + box.other);
  }
  return {
    unit: answer.unit,
    total: answer.base_total + answer.other_total,
    nodes: answer.boxes.map((box) => ({
      node: box.node,
      parent: box.parent,
      name: box.name,
      kind: box.kind,
      value: box.base + box.other,
      self_value: Math.max(0, box.base + box.other - (inside.get(box.node) ?? 0)),
      count: 1,
      boxes: 1,
      short: "",
      note: "",
    })),
    merged: 0,
    missing: "",
    left_out: [],
    in_order: false,
  };
}

const STRONG = 0.5;

/** How far from equal: −1 only in A … 1 only in B. */
export const leaning = ({ base, other }: DiffBox): number =>
  base + other === 0 ? 0 : (other - base) / (base + other);

function tintOf(boxes: readonly DiffBox[]): FlameTint {
  return ({ node }) => {
    const box = boxes[node];
    const lean = box === undefined ? 0 : leaning(box);
    return {
      token: lean < 0 ? "--better" : "--worse",
      strength: Math.min(1, Math.abs(lean) / STRONG),
    };
  };
}

function Words({ box, unit }: { box: DiffBox | undefined; unit: string }) {
  if (box === undefined) {
    return (
      <p className="hint">
        Press a box to compare it. Width: A and B together. Colour: who takes more.
      </p>
    );
  }
  const words = unit === "ns" ? time : (value: number) => count(Math.round(value));
  const delta = box.other - box.base;
  const said =
    unit === "ns" ? change(delta) : `${delta < 0 ? MINUS : "+"}${fixed(Math.abs(delta), 0)}`;
  return (
    <p className="diff-box" role="status">
      <b className="mono">{harmless(box.name, 120)}</b>
      <span>
        A {words(box.base)} · B {words(box.other)} per step
      </span>
      <span className={delta < 0 ? "better" : delta > 0 ? "worse" : "dim"}>
        {said} {percent(box.base, box.other)}
      </span>
    </p>
  );
}

function Boxes({ answer, search }: { answer: DiffFlame; search: string }) {
  const [chosen, setChosen] = useState(-1);
  const [focus, setFocus] = useState<number | null>(null);
  const flame = useMemo(() => together(answer), [answer]);
  const tint = useMemo(() => tintOf(answer.boxes), [answer]);
  return (
    <>
      <FlameGraph
        flame={flame}
        counted="call"
        focus={focus}
        onFocus={setFocus}
        onChoose={(node) => setChosen(node?.node ?? -1)}
        isHit={search === "" ? null : (name) => matches(name, search)}
        tint={tint}
      />
      <Words box={answer.boxes[chosen]} unit={answer.unit} />
    </>
  );
}

export function DiffFlameGraph({
  query,
  modes,
  hasDevice,
}: {
  query: DiffQuery;
  modes: React.ReactNode;
  hasDevice: boolean;
}) {
  const address = useAddress();
  const values = useValues();
  const metric = (values["diff.flame"] ?? "host") as Metric;
  const state = usePart("diff/flame", useAsked(), { ...query, metric }, true);
  return (
    <section className="panel" aria-label="Flame graph of both">
      <div className="tools">
        {modes}
        <Segmented
          label="Width"
          options={[
            ["host", "Host time"],
            ["device", "Device time", hasDevice ? "" : "No device activity was recorded."],
            ["calls", "Calls"],
          ]}
          value={metric}
          onChange={(next) => address.replace({ "diff.flame": next === "host" ? undefined : next })}
        />
        <span className="legend">
          <span className="better">▼ less in B</span> <span className="worse">▲ more in B</span>
        </span>
      </div>
      <div className="body">
        <Answered state={state}>
          {(answer) =>
            answer.missing !== "" || answer.boxes.length === 0 ? (
              <p className="empty">{answer.missing || "No call took any of this time."}</p>
            ) : (
              <Boxes key={metric} answer={answer} search={values["diff.search"] ?? ""} />
            )
          }
        </Answered>
      </div>
    </section>
  );
}
