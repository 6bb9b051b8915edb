/** Who made the others wait, and who waited: sums of each rank, or every pair. */
import type { Distributed } from "../../api/types.gen";
import { DASH, inScale, time, timeScale } from "../../base/text/format";
import { CopyTable } from "../../components/controls/copy_table";
import { Segmented } from "../../components/controls/segmented";
import { Panel } from "../../components/states/panel";
import { Paragraph } from "../../components/text/prose";
import { useAddress, useValues } from "../../state/host/environment";
import { rampClass, rankName } from "./rank_names";

/** Beyond these, the list has those that cost or lost most. */
const MOST_ROWS = 16;
const MOST_PAIRS = 16;

function Bar({ value, most, kind }: { value: number; most: number; kind: string }) {
  return (
    <span className="blame-bar">
      {value > 0 ? (
        <i className={kind} style={{ width: `${Math.max(1, (value / most) * 66)}%` }} />
      ) : null}
      <span className={value > 0 ? "" : "dim"}>{value > 0 ? time(value) : DASH}</span>
    </span>
  );
}

function Sums({ answer }: { answer: Distributed }) {
  const ranks = answer.ranks.filter(({ cost_ns }) => cost_ns !== null);
  const most = Math.max(
    1,
    ...ranks.flatMap(({ cost_ns, lost_ns }) => [cost_ns ?? 0, lost_ns ?? 0]),
  );
  const isCut = ranks.length > MOST_ROWS;
  const shown = isCut
    ? [...ranks].sort((a, b) => (b.cost_ns ?? 0) - (a.cost_ns ?? 0)).slice(0, MOST_ROWS)
    : ranks;
  const worst = Math.max(...ranks.map(({ cost_ns }) => cost_ns ?? 0));
  return (
    <>
      <table className="blame">
        <thead>
          <tr>
            <th>
              <span className="unseen">Rank</span>
            </th>
            <th title={answer.definitions["cost"]}>cost others</th>
            <th title={answer.definitions["lost"]}>lost to others</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((rank) => (
            <tr key={rank.worker} className={rank.cost_ns === worst && worst > 0 ? "strong" : ""}>
              <th scope="row">{rankName(rank)}</th>
              <td>
                <Bar value={rank.cost_ns ?? 0} most={most} kind="k comm" />
              </td>
              <td>
                <Bar value={rank.lost_ns ?? 0} most={most} kind="blame-lost" />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {isCut ? (
        <p className="hint">
          The {MOST_ROWS} of {ranks.length} ranks that cost most; Copy has all.
        </p>
      ) : null}
    </>
  );
}

function Pairs({ answer }: { answer: Distributed }) {
  const rows = answer.blame
    .map((row, at) => ({ row, at, sum: row.reduce((a, b) => a + b, 0) }))
    .filter(({ sum }) => sum > 0)
    .sort((a, b) => b.sum - a.sum)
    .slice(0, MOST_PAIRS);
  const most = Math.max(1, ...rows.flatMap(({ row }) => row));
  const scale = timeScale(most);
  const name = (at: number) => {
    const rank = answer.ranks[at];
    return rank === undefined ? "" : rankName(rank);
  };
  return (
    <div className="scroll">
      <table className="heat">
        <thead>
          <tr>
            <th>last ↓ waiting →</th>
            {answer.blame.map((_, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a rank is named by its row
              <th key={at}>{answer.ranks[at]?.rank ?? at}</th>
            ))}
            <th className="num">sum</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ row, at, sum }) => (
            <tr key={at}>
              <th scope="row">{name(at)}</th>
              {row.map((value, waiting) => (
                <td
                  // biome-ignore lint/suspicious/noArrayIndexKey: a rank is named by its row
                  key={waiting}
                  className={rampClass(value, most)}
                  title={`${name(waiting)} waited ${time(value)} for ${name(at)} per step`}
                >
                  {value === 0 ? "" : inScale(value, scale)}
                </td>
              ))}
              <td className="num">{time(sum)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function Blame({ answer, isOld }: { answer: Distributed; isOld: boolean }) {
  const address = useAddress();
  const isMatrix = useValues()["distributed.blame"] === "matrix" && answer.blame.length > 0;
  const total = answer.total_wait_ns;
  return (
    <Panel
      title="Who cost, who lost"
      hint="waiting in collectives, per step"
      isOld={isOld}
      className="blame-panel"
      controls={
        <>
          <Segmented
            label="Shown as"
            value={isMatrix ? "matrix" : "sums"}
            options={[
              ["sums", "Sums"],
              [
                "matrix",
                "Matrix",
                answer.blame.length > 0 ? "" : "Every pair is shown for up to 64 ranks that wait.",
              ],
            ]}
            onChange={(next) =>
              address.replace({ "distributed.blame": next === "sums" ? undefined : next })
            }
          />
          <CopyTable label="who cost and who lost" table={() => toPlain(answer)} />
        </>
      }
    >
      {total === null ? (
        <Paragraph
          className="ink2 small"
          text={answer.reasons["waiting"] ?? "Nobody waited in the chosen steps."}
        />
      ) : (
        <>
          {isMatrix ? <Pairs answer={answer} /> : <Sums answer={answer} />}
          <p className="hint blame-note">
            Both columns, the rows and columns of the matrix, add up to {time(total)} of all ranks.{" "}
            {answer.clocks}
          </p>
        </>
      )}
    </Panel>
  );
}

const toPlain = (answer: Distributed) => ({
  header: ["worker", "rank", "cost_ns", "lost_ns", "times_last", "own_ns", "brought_in_ns"],
  rows: answer.ranks.map(
    ({ worker, rank, cost_ns, lost_ns, times_last, own_ns, brought_in_ns }) => [
      worker,
      rank,
      cost_ns,
      lost_ns,
      times_last,
      own_ns,
      brought_in_ns,
    ],
  ),
});
