/** Each rank's mean step: computation and communication, or waiting and data transfer. */
import type { Distributed, DistributedRank, RankStep } from "../../api/types.gen";
import { count, inScale, time, timeScale } from "../../base/text/format";
import { fillClass, Swatch } from "../../components/charts/category";
import { CopyTable } from "../../components/controls/copy_table";
import { Segmented } from "../../components/controls/segmented";
import { FirstFew } from "../../components/states/first_few";
import { Panel } from "../../components/states/panel";
import { Paragraph } from "../../components/text/prose";
import { useAddress, useValues } from "../../state/host/environment";
import { rankName } from "./rank_names";

interface Part {
  readonly key: keyof RankStep;
  readonly label: string;
  readonly category: string;
  readonly ghost: boolean;
  readonly help: string;
}

const PARTS: readonly Part[] = [
  { key: "compute_ns", label: "Computation", category: "compute", ghost: false, help: "compute" },
  { key: "overlap_ns", label: "Overlapping", category: "overlap", ghost: false, help: "overlap" },
  {
    key: "communication_ns",
    label: "Communication",
    category: "comm",
    ghost: false,
    help: "communication",
  },
  { key: "copy_ns", label: "Copies", category: "memcpy", ghost: false, help: "copy" },
  { key: "idle_ns", label: "Other", category: "other", ghost: true, help: "idle" },
];
const COMMUNICATION: readonly Part[] = [
  {
    key: "transferring_ns",
    label: "Data transfer",
    category: "comm",
    ghost: false,
    help: "transferring",
  },
  {
    key: "synchronizing_ns",
    label: "Synchronizing",
    category: "comm",
    ghost: true,
    help: "synchronizing",
  },
];
const FIRST = 16;

type Known = DistributedRank & { readonly step: RankStep };

const isKnown = (rank: DistributedRank): rank is Known => rank.step !== null;

function Bars({ ranks, parts }: { ranks: readonly Known[]; parts: readonly Part[] }) {
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
  const parts = isWaiting ? COMMUNICATION : PARTS;
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
          <CopyTable label="each rank's step" table={() => toPlain(ranks)} />
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
              <span key={key} title={answer.definitions[help] ?? ""}>
                <Swatch category={category} ghost={ghost} /> {label}
              </span>
            ))}
          </p>
        </>
      )}
    </Panel>
  );
}

const KEYS = [
  "length_ns",
  "compute_ns",
  "overlap_ns",
  "communication_ns",
  "copy_ns",
  "idle_ns",
  "synchronizing_ns",
  "transferring_ns",
] as const;

const toPlain = (ranks: readonly Known[]) => ({
  header: ["worker", "rank", ...KEYS],
  rows: ranks.map(({ worker, rank, step }) => [worker, rank, ...KEYS.map((key) => step[key])]),
});
