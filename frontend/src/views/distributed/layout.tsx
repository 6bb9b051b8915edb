/** All ranks by their places in the process groups, coloured by what they cost. */
import type { Distributed, DistributedRank, LayoutCell, RankLayout } from "../../api/types.gen";
import { count, plural, time } from "../../base/text/format";
import { CopyTable } from "../../components/controls/copy_table";
import { Segmented } from "../../components/controls/segmented";
import { Panel } from "../../components/states/panel";
import { Paragraph } from "../../components/text/prose";
import { useAddress, useValues } from "../../state/host/environment";
import { useWords } from "../../state/page_context";
import { HeatLegend } from "./heat";
import { rampClass, useFoundRank } from "./rank_names";

/** More cells than this have no place on a screen. */
const MOST_CELLS = 4096;
const MOST_COLUMNS = 32;
/** The axis whose places lie below one another, in blocks. */
const BLOCKS = "PP";

type Metric = "excess_ns" | "cost_ns" | "lost_ns";
const METRICS: readonly (readonly [Metric, string, string])[] = [
  ["excess_ns", "Own work", "own work before its collectives, beyond that of its peers"],
  ["cost_ns", "Cost others", "what others waited for it"],
  ["lost_ns", "Lost", "what it waited for others"],
];

interface Spot {
  readonly cell: LayoutCell;
  readonly column: number;
  readonly row: number;
}

export interface Arranged {
  readonly columns: number;
  /** By the place along the axis of blocks. */
  readonly blocks: readonly (readonly Spot[])[];
  /** What lies beside one another, and below. */
  readonly across: string;
  readonly down: string;
}

/** How much of an axis fits beside one another: all, a part that divides it, or what fills a line. */
function fitting(columns: number, size: number): number {
  const most = Math.min(size, Math.floor(MOST_COLUMNS / columns));
  let part = most;
  while (part > 1 && size % part !== 0) {
    part -= 1;
  }
  return 2 * part >= most ? part : most;
}

/** Columns are the inner axes as far as they fit, rows the others, blocks the pipeline's stages. */
export function arrange({ axes, cells }: RankLayout): Arranged {
  const block = axes.findIndex(({ name }) => name === BLOCKS);
  const inner = axes.flatMap((axis, at) => (at === block ? [] : [{ ...axis, at }]));
  let columns = 1;
  let isFull = false;
  const across: string[] = [];
  const down: string[] = [];
  for (const { name, size } of inner) {
    const part: number = isFull ? 1 : fitting(columns, size);
    isFull = isFull || part < size;
    columns *= part;
    across.push(...(part > 1 ? [`${name} ${part}`] : []));
    down.push(...(part < size ? [`${name} ${Math.ceil(size / part)}`] : []));
  }
  const blocks: Spot[][] = [];
  for (const cell of cells) {
    let place = 0;
    let weight = 1;
    for (const { size, at } of inner) {
      place += (cell.place[at] ?? 0) * weight;
      weight *= size;
    }
    const number = cell.place[block] ?? 0;
    const list = blocks[number] ?? [];
    list.push({ cell, column: place % columns, row: Math.floor(place / columns) });
    blocks[number] = list;
  }
  return { columns, blocks, across: across.join(" × "), down: down.join(" × ") };
}

interface PlaceProps {
  readonly answer: Distributed;
  readonly metric: Metric;
  readonly most: number;
  readonly found: number | null;
}

function wordsOf(answer: Distributed, { rank, row, place }: LayoutCell, metric: Metric): string {
  const at = answer.layout.axes.map(({ name }, axis) => `${name} ${place[axis] ?? 0}`).join(", ");
  const one: DistributedRank | undefined = row === null ? undefined : answer.ranks[row];
  const value = one?.[metric] ?? null;
  const said = METRICS.find(([key]) => key === metric)?.[1].toLowerCase() ?? "";
  const end = one === undefined ? "no recording" : `${said} ${value === null ? "–" : time(value)}`;
  return `rank ${rank}${one === undefined || one.node === "" ? "" : ` on ${one.node}`} (${at}): ${end}`;
}

function Blocks({ arranged, ...more }: PlaceProps & { arranged: Arranged }) {
  const { answer, metric, most, found } = more;
  const { columns, blocks } = arranged;
  const rows = Math.max(...blocks.map((one) => Math.max(0, ...one.map(({ row }) => row + 1))));
  const isRoomy = rows * blocks.length <= 12 && columns <= 16;
  return (
    <div className="layout-blocks">
      {blocks.map((cells, number) => (
        <div key={cells[0]?.cell.rank ?? number} className="layout-block">
          {blocks.length > 1 ? (
            <span className="layout-name" title={`stage ${number} of the pipeline`}>
              {BLOCKS} {number}
            </span>
          ) : null}
          <div
            className={`layout-cells ${isRoomy ? "roomy" : ""}`}
            style={{ gridTemplateColumns: `repeat(${columns}, minmax(3px, 1fr))` }}
          >
            {cells.map(({ cell, column, row }) => (
              <i
                key={cell.rank}
                className={`${rampClass(cell.row === null ? null : (answer.ranks[cell.row]?.[metric] ?? null), most)}${cell.row !== null && cell.row === found ? " found" : ""}`}
                style={{ gridColumn: column + 1, gridRow: row + 1 }}
                title={wordsOf(answer, cell, metric)}
              >
                {isRoomy ? cell.rank : null}
              </i>
            ))}
          </div>
        </div>
      ))}
    </div>
  );
}

const isMetric = (text: string | undefined): text is Metric =>
  METRICS.some(([key]) => key === text);

export function Layout({ answer, isOld }: { answer: Distributed; isOld: boolean }) {
  const words = useWords();
  const address = useAddress();
  const asked = useValues()["distributed.layout"];
  const found = useFoundRank(answer);
  const used = answer.ranks.filter((one) => one.used);
  const has = (key: Metric) => used.some((one) => one[key] !== null);
  const usual: Metric = has("excess_ns") ? "excess_ns" : "cost_ns";
  const metric = isMetric(asked) && has(asked) ? asked : usual;
  const most = Math.max(0, ...used.map((one) => one[metric] ?? 0));
  const { layout } = answer;
  const arranged = arrange(layout);
  const why = (key: Metric) =>
    has(key) ? "" : (answer.reasons[key === "excess_ns" ? "own" : "waiting"] ?? "Not available.");
  return (
    <Panel
      title="Layout"
      hint={layout.text === "" ? "by rank" : layout.text}
      isOld={isOld}
      className="layout-panel"
      controls={
        <>
          <Segmented
            label="Colour"
            value={metric}
            options={METRICS.map(([key, words]) => [key, words, why(key)])}
            onChange={(next) =>
              address.replace({ "distributed.layout": next === usual ? undefined : next })
            }
          />
          <CopyTable label="the layout" table={() => toPlain(answer)} />
        </>
      }
    >
      {layout.cells.length > MOST_CELLS ? (
        <Paragraph
          className="ink2 small"
          text={`The layout is drawn for up to ${count(MOST_CELLS)} ranks; Copy has all ${count(layout.cells.length)}.`}
        />
      ) : (
        <>
          <Blocks arranged={arranged} answer={answer} metric={metric} most={most} found={found} />
          <HeatLegend most={most} />
          <p className="hint">
            {plural(layout.cells.length, "rank")}, a cell each:{" "}
            {words(`${METRICS.find(([key]) => key === metric)?.[2]}, per step.`)}{" "}
            {arranged.across === "" ? "" : `Columns: ${arranged.across}. `}
            {arranged.down === "" ? "" : `Rows: ${arranged.down}. `}
            {layout.text === "" ? "" : "Roles are guesses. Choose them under Process groups."}
          </p>
        </>
      )}
    </Panel>
  );
}

const toPlain = ({ layout, ranks }: Distributed) => ({
  header: ["rank", ...layout.axes.map(({ name }) => name), ...METRICS.map(([key]) => key)],
  rows: layout.cells.map(({ rank, row, place }) => {
    const one = row === null ? undefined : ranks[row];
    return [rank, ...place, ...METRICS.map(([key]) => one?.[key] ?? null)];
  }),
});
