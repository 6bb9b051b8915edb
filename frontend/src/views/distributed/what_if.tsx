/** What if a rank, a node, a stage or a group of links were like the others? */
import type { Distributed, WhatIfAnswer } from "../../api/types.gen";
import { plainTable } from "../../base/text/delimited";
import { share, time } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { fillClass } from "../../components/charts/category";
import { CopyTable } from "../../components/controls/copy_table";
import { Select } from "../../components/controls/select";
import { Answered } from "../../components/states/answered";
import { Panel } from "../../components/states/panel";
import { Paragraph } from "../../components/text/prose";
import { useAddress, useValues } from "../../state/host/environment";
import { useWords } from "../../state/page_context";
import { useAsked, usePart } from "../../state/parts";
import { rankName } from "./rank_names";

type Kind = "rank" | "node" | "stage" | "group" | "input";
const KINDS: readonly (readonly [Kind, string])[] = [
  ["rank", "one rank worked like the median of its peers"],
  ["node", "all ranks of a node did"],
  ["stage", "all ranks of a pipeline stage did"],
  ["group", "a group's transfers took as long as the others'"],
  ["input", "the next batch were always there"],
];

/** What each kind can be asked about, by its number on the server. */
function targetsOf(answer: Distributed, kind: Kind): readonly (readonly [string, string])[] {
  const used = answer.ranks.flatMap((rank, row) => (rank.used ? [{ rank, row }] : []));
  switch (kind) {
    case "rank":
      return used.map(({ rank, row }) => [String(row), rankName(rank)]);
    case "node":
      return [...new Set(used.map(({ rank }) => rank.node).filter(Boolean))].map((node, at) => [
        String(at),
        harmless(node, 40),
      ]);
    case "stage":
      return answer.pipeline.map(({ ranks }, at) => [String(at), `stage ${at}, ${ranks}`]);
    case "group":
      return answer.groups.map(({ label, key }, at) => [
        String(at),
        harmless(label.includes(key) ? label : `${label} ${key}`, 60),
      ]);
    case "input":
      return [];
  }
}

function Bars({ step_ns, edited_ns }: { step_ns: number; edited_ns: number }) {
  const most = Math.max(step_ns, edited_ns, 1);
  const rows: readonly (readonly [string, number])[] = [
    ["as recorded", step_ns],
    ["with the change", edited_ns],
  ];
  return (
    <ul className="rank-steps what-if-bars">
      {rows.map(([name, ns]) => (
        <li key={name}>
          <span>{name}</span>
          <span className="rank-bar" style={{ width: `${(ns / most) * 100}%` }} aria-hidden="true">
            <i className={fillClass("compute", false)} style={{ flex: "1 0 0" }} />
          </span>
          <span className="num">{time(ns)}</span>
        </li>
      ))}
    </ul>
  );
}

/** `above`: what the panel has said of the replay already. */
function Result({ answer: one, above }: { answer: WhatIfAnswer; above: string }) {
  const words = useWords();
  const { refused, step_ns, edited_ns, gain_ns } = one;
  if (refused !== "") {
    return above.includes(refused) ? null : (
      <Paragraph className="ink2 small" text={`No answer: ${refused}`} />
    );
  }
  if (step_ns === null || edited_ns === null) {
    return null;
  }
  return (
    <>
      <p className="strong" role="status">
        {gain_ns === null
          ? "No gain is claimed: another rank's change would give as much, or it is within the replay's error."
          : words(
              `Up to ${time(gain_ns)} of ${time(step_ns)} a step: ${share(gain_ns / step_ns)} less.`,
            )}
      </p>
      <Bars step_ns={step_ns} edited_ns={edited_ns} />
    </>
  );
}

const whatIfTable = plainTable<WhatIfAnswer>(["refused", "step_ns", "edited_ns", "gain_ns"]);

const isKind = (text: string | undefined): text is Kind => KINDS.some(([key]) => key === text);

/** What is asked, as the address says; at first of the node that is named, else of the worst rank. */
function chosen(answer: Distributed, asked: string) {
  const [kindAsked, targetAsked = ""] = asked.split(":");
  const worst = answer.look_at[0]?.rank ?? 0;
  // Where a whole node is named, none of its ranks alone would gain anything.
  const late = answer.nodes.find(({ is_late }) => is_late)?.name;
  const kinds = KINDS.filter(([key]) => key === "input" || targetsOf(answer, key).length > 0);
  const usual = late === undefined ? "rank" : "node";
  const kind: Kind =
    isKind(kindAsked) && kinds.some(([key]) => key === kindAsked) ? kindAsked : usual;
  const targets = targetsOf(answer, kind);
  const named = targets.find(([, name]) => kind === "node" && name === harmless(late ?? "", 40));
  const first = kind === "rank" ? String(worst) : ((named ?? targets[0])?.[0] ?? "0");
  const isKnown = targets.some(([key]) => key === targetAsked);
  return { kinds, kind, targets, target: isKnown ? targetAsked : first };
}

export function WhatIf({ answer, isOld }: { answer: Distributed; isOld: boolean }) {
  const address = useAddress();
  const { kinds, kind, targets, target } = chosen(answer, useValues()["distributed.what_if"] ?? "");
  const query = answer.waiting > 0 ? null : { kind, target: Number(target) };
  const state = usePart("distributed/what_if", useAsked(), query, true);
  const choose = (next: Kind, to: string) =>
    address.replace({ "distributed.what_if": to === "" ? next : `${next}:${to}` });
  return (
    <Panel
      title="What if"
      hint="the step replayed with a change"
      isOld={isOld || state.isOld}
      className="what-if-panel"
      controls={
        <CopyTable
          label="what if"
          table={() => whatIfTable(state.data === undefined ? [] : [state.data])}
        />
      }
    >
      <p className="ink2 small what-if-error">{answer.replay}</p>
      {answer.waiting > 0 ? null : (
        <>
          <p className="row wrap">
            <Select
              label="What if"
              value={kind}
              options={kinds}
              onChange={(next) => choose(next, "")}
            />
            {targets.length > 0 ? (
              <Select
                label="Which one"
                value={target}
                options={targets}
                onChange={(next) => choose(kind, next)}
              />
            ) : null}
          </p>
          <Answered state={state}>
            {(said) => <Result answer={said} above={answer.replay} />}
          </Answered>
        </>
      )}
    </Panel>
  );
}
