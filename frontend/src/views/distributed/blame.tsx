/** Who made the others wait, and who waited: sums of each rank, or every pair. */
import { type KeyboardEvent, useState } from "react";
import type { Distributed } from "../../api/types.gen";
import { DASH, inScale, plural, time, timeScale } from "../../base/text/format";
import { capital } from "../../base/text/shown_name";
import { CopyTable } from "../../components/controls/copy_table";
import { Segmented } from "../../components/controls/segmented";
import { helpOf } from "../../components/data_table/declared";
import { Heading } from "../../components/data_table/heading";
import { Panel } from "../../components/states/panel";
import { Paragraph } from "../../components/text/prose";
import { useAddress, useValues } from "../../state/host/environment";
import { useWords } from "../../state/page_context";
import { rampClass, rankName } from "./rank_names";

/** Beyond these, the list has those that cost or lost most. */
const MOST_ROWS = 16;
/** Beyond these, pairs are cells without figures. */
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
      {/* Two bars a row, on one scale: no cells of a column each. */}
      <table className="blame">
        <thead>
          <tr>
            <th>
              <span className="unseen">Rank</span>
            </th>
            <Heading help={helpOf(answer.ranks_columns, "cost_ns")}>Cost others</Heading>
            <Heading help={helpOf(answer.ranks_columns, "lost_ns")}>Lost to others</Heading>
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
          The {MOST_ROWS} of {plural(ranks.length, "rank")} that cost most; Copy has all.
        </p>
      ) : null}
    </>
  );
}

/** What a row or column of the matrix stands for: a rank, or neighbours. */
function partName({ blame_ranks, ranks }: Distributed, at: number): string {
  const used = ranks.filter((rank) => rank.used);
  const first = used[at * blame_ranks];
  const last = used[Math.min((at + 1) * blame_ranks, used.length) - 1];
  if (first === undefined || last === undefined) {
    return "";
  }
  return blame_ranks === 1 ? rankName(first) : `${rankName(first)}–${last.rank ?? ""}`;
}

const pairWords = (answer: Distributed, last: number, waiting: number): string =>
  `${partName(answer, waiting)} waited ${time(answer.blame[last]?.[waiting] ?? 0)} for ${partName(answer, last)} per step`;

/** Few ranks: every pair with its figure. */
function PairTable({ answer }: { answer: Distributed }) {
  const words = useWords();
  const all = answer.blame.map((row, at) => ({ row, at, sum: row.reduce((a, b) => a + b, 0) }));
  const rows = all.filter(({ sum }) => sum > 0).sort((a, b) => b.sum - a.sum);
  const most = Math.max(1, ...rows.flatMap(({ row }) => row));
  const scale = timeScale(most);
  return (
    <>
      <div className="scroll">
        <table className="heat">
          <thead>
            <tr>
              <th>last ↓ waiting →</th>
              {answer.blame.map((_, at) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: a rank is named by its row
                <th key={at}>{answer.ranks[at]?.rank ?? at}</th>
              ))}
              <Heading help="Waiting time of all others for this rank." className="num">
                Sum
              </Heading>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ row, at, sum }) => (
              <tr key={at}>
                <th scope="row">{partName(answer, at)}</th>
                {row.map((value, waiting) => (
                  <td
                    // biome-ignore lint/suspicious/noArrayIndexKey: a rank is named by its row
                    key={waiting}
                    className={rampClass(value, most)}
                    title={words(pairWords(answer, at, waiting))}
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
      {rows.length < all.length ? (
        <p className="hint">
          No rank waited for the other {plural(all.length - rows.length, "rank")}.
        </p>
      ) : null}
    </>
  );
}

const MOVES: Readonly<Record<string, readonly [number, number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/** Many ranks: a cell for each pair, or for the pairs of two groups of neighbours. */
function PairCells({ answer }: { answer: Distributed }) {
  const words = useWords();
  const { blame, blame_ranks } = answer;
  const [at, setAt] = useState<readonly [number, number] | null>(null);
  const most = Math.max(1, ...blame.flat());
  const walk = (event: KeyboardEvent) => {
    const move = MOVES[event.key];
    if (move !== undefined) {
      event.preventDefault();
      const inside = (place: number) => Math.max(0, Math.min(blame.length - 1, place));
      setAt(at === null ? [0, 0] : [inside(at[0] + move[0]), inside(at[1] + move[1])]);
    }
  };
  const of = plural(answer.ranks.filter((rank) => rank.used).length, "rank");
  return (
    <>
      <p className="hint">last to start ↓, waiting →, in the order of ranks</p>
      <div
        className="pair-cells"
        style={{ gridTemplateColumns: `repeat(${blame.length}, minmax(2px, 1fr))` }}
        role="img"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrows walk the cells
        tabIndex={0}
        aria-label={`Who waited for whom, of ${of}; arrows walk the cells.`}
        onKeyDown={walk}
        onPointerLeave={() => setAt(null)}
      >
        {blame.map((row, last) =>
          row.map((value, waiting) => (
            <i
              // biome-ignore lint/suspicious/noArrayIndexKey: a rank is named by its row
              key={`${last} ${waiting}`}
              className={`${rampClass(value, most)}${at?.[0] === last && at[1] === waiting ? " found" : ""}`}
              onPointerEnter={() => setAt([last, waiting])}
            />
          )),
        )}
      </div>
      <p className="hint heat-words" role="status">
        {at === null
          ? "Point at a cell, or walk with the arrows."
          : words(`${capital(pairWords(answer, ...at))}.`)}
      </p>
      {blame_ranks > 1 ? (
        <p className="hint">
          A row and a column are {blame_ranks} ranks each, added up: {of} are more than can be told
          apart.
        </p>
      ) : null}
    </>
  );
}

const Pairs = ({ answer }: { answer: Distributed }) =>
  answer.blame.length > MOST_PAIRS ? <PairCells answer={answer} /> : <PairTable answer={answer} />;

export function Blame({ answer, isOld }: { answer: Distributed; isOld: boolean }) {
  const words = useWords();
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
                answer.blame.length > 0 ? "" : words("No rank waited in the chosen steps."),
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
          text={words(answer.reasons["waiting"] ?? "No rank waited in the chosen steps.")}
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
