/** Each rank's mean step: computation and communication, or waiting and data transfer. */
import type { Column, Distributed, DistributedRank, RankStep } from "../../api/types.gen";
import { count, inScale, time, timeScale } from "../../base/text/format";
import { fillClass, Swatch } from "../../components/charts/category";
import { CopyTable } from "../../components/controls/copy_table";
import { Segmented } from "../../components/controls/segmented";
import { declaredToPlain } from "../../components/data_table/declared";
import { FirstFew } from "../../components/states/first_few";
import { Panel } from "../../components/states/panel";
import { Paragraph } from "../../components/text/prose";
import { useAddress, useValues } from "../../state/host/environment";
import { rankName } from "./rank_names";

interface Part {
  readonly key: keyof RankStep;
  readonly category: string;
  readonly ghost: boolean;
}

const PARTS: readonly Part[] = [
  { key: "compute_ns", category: "compute", ghost: false },
  { key: "overlap_ns", category: "overlap", ghost: false },
  { key: "communication_ns", category: "comm", ghost: false },
  { key: "copy_ns", category: "memcpy", ghost: false },
  { key: "idle_ns", category: "other", ghost: true },
];
const COMMUNICATION: readonly Part[] = [
  { key: "transferring_ns", category: "comm", ghost: false },
  { key: "synchronizing_ns", category: "comm", ghost: true },
];

interface NamedPart extends Part {
  readonly label: string;
  readonly help: string;
}

/** The parts with the words of their columns. */
const named = (parts: readonly Part[], heads: readonly Column[]): readonly NamedPart[] =>
  parts.map((part) => {
    const head = heads.find(({ key }) => key === part.key);
    return { ...part, label: head?.label ?? part.key, help: head?.help ?? "" };
  });

const FIRST = 16;

type Known = DistributedRank & { readonly step: RankStep };

const isKnown = (rank: DistributedRank): rank is Known => rank.step !== null;

function Bars({ ranks, parts }: { ranks: readonly Known[]; parts: readonly NamedPart[] }) {
  const sum = ({ step }: Known) => parts.reduce((all, { key }) => all + (step[key] ?? 0), 0);
  const most = Math.max(1, ...ranks.map(sum));
  const scale = timeScale(most);
  return (
    <FirstFew items={ranks} most={FIRST}>
      {(shown) => (
        <ul className="rank-steps">
          {shown.map((rank) => {
            const words = parts
              .map(({ key, label }) => `${label} ${time(rank.step[key] ?? 0)}`)
              .join(", ");
            return (
              <li key={rank.worker} title={words}>
                <span>{rankName(rank)}</span>
                <span
                  className="rank-bar"
                  role="img"
                  aria-label={words}
                  style={{ width: `${(sum(rank) / most) * 100}%` }}
                >
                  {parts.map(({ key, category, ghost }) => {
                    const value = rank.step[key] ?? 0;
                    return value > 0 ? (
                      <i
                        key={key}
                        className={fillClass(category, ghost)}
                        style={{ flex: `${value} 0 0` }}
                      />
                    ) : null;
                  })}
                </span>
                <span className="num">{inScale(sum(rank), scale)}</span>
              </li>
            );
          })}
        </ul>
      )}
    </FirstFew>
  );
}

export function RankSteps({ answer, isOld }: { answer: Distributed; isOld: boolean }) {
  const address = useAddress();
  const isWaiting = useValues()["distributed.parts"] === "waiting";
  const ranks = answer.ranks.filter(isKnown);
  const heads = answer.step_columns;
  const parts = named(isWaiting ? COMMUNICATION : PARTS, heads);
  const used = parts.filter(({ key }) => ranks.some(({ step }) => (step[key] ?? 0) > 0));
  const most = Math.max(0, ...ranks.map(({ step }) => step.length_ns));
  const why = answer.reasons["waiting"] ?? "";
  return (
    <Panel
      title="Each rank's step"
      hint={`${isWaiting ? "time in collectives" : "own window"}, ${answer.step_count === 1 ? "one step" : `mean of ${count(answer.step_count)} steps`}, ${timeScale(most).unit.name}`}
      isOld={isOld}
      className="steps-panel"
      controls={
        <>
          <Segmented
            label="Parts"
            value={isWaiting ? "waiting" : "work"}
            options={[
              ["work", "Computation / communication"],
              ["waiting", "Synchronizing / transfer", why],
            ]}
            onChange={(next) =>
              address.replace({ "distributed.parts": next === "work" ? undefined : next })
            }
          />
          <CopyTable label="each rank's step" table={() => toPlain(ranks, heads)} />
        </>
      }
    >
      {ranks.length === 0 ? (
        <Paragraph className="ink2 small" text="No step was recorded." />
      ) : (
        <>
          <Bars ranks={ranks} parts={parts} />
          <p className="rank-legend">
            {used.map(({ key, label, category, ghost, help }) => (
              <span key={key} title={help}>
                <Swatch category={category} ghost={ghost} /> {label}
              </span>
            ))}
          </p>
        </>
      )}
    </Panel>
  );
}

const toPlain = (ranks: readonly Known[], heads: readonly Column[]) => {
  const steps = declaredToPlain<RankStep>(heads)(ranks.map(({ step }) => step));
  return {
    header: ["worker", "rank", ...steps.header],
    rows: ranks.map(({ worker, rank }, at) => [worker, rank, ...(steps.rows[at] ?? [])]),
  };
};
