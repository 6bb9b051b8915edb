/** Ranks by steps or by collectives: who waits, who is slow by itself, who starts late. */
import {
  type KeyboardEvent,
  type PointerEvent,
  type ReactNode,
  useCallback,
  useState,
} from "react";
import type { Distributed, HeatColumns, RankCell } from "../../api/types.gen";
import { useWidth } from "../../base/measure";
import { inScale, plural, type Scale, time, timeScale } from "../../base/text/format";
import { capital, harmless } from "../../base/text/shown_name";
import { LiveCanvas } from "../../components/charts/live_canvas";
import { CopyTable } from "../../components/controls/copy_table";
import { SearchField } from "../../components/controls/search_field";
import { Segmented } from "../../components/controls/segmented";
import { ViewLink, viewPatch } from "../../components/controls/view_link";
import { Heading } from "../../components/data_table/heading";
import { Panel } from "../../components/states/panel";
import { Paragraph } from "../../components/text/prose";
import { useAddress, useThemeName, useValues } from "../../state/host/environment";
import { useLeadsTo, useWords } from "../../state/page_context";
import {
  linesOf,
  RAMP,
  type RankLine,
  rampClass,
  rampStep,
  rankName,
  useFoundRank,
} from "./rank_names";

type Columns = "steps" | "collectives";
type Metric = "waiting" | "own" | "start";

const METRICS: Readonly<Record<Metric, string>> = {
  waiting: "Waiting",
  own: "Work before arrival",
  start: "Start",
};
const HINTS: Readonly<Record<Columns, Readonly<Record<Metric, string>>>> = {
  steps: {
    waiting: "waiting for others in collectives; a frame marks who came last most often",
    own: "own work before collectives, beyond that of its peers",
    start: "behind the first rank at the start of the step",
  },
  collectives: {
    waiting: "those with most waiting; a frame marks who came last",
    own: "own work since the collective before, beyond that of its peers; a frame marks who came last",
    start: "behind the first rank; a frame marks who came last",
  },
};

/** More cells than this are painted, not laid out. */
const MOST_CELLS = 800;
const MOST_LAID_OUT = 26;
const MOST_ROWS = 32;

interface Grid {
  readonly lines: readonly RankLine[];
  readonly columns: HeatColumns;
  readonly cells: readonly RankCell[];
  readonly most: number;
  readonly scale: Scale;
  /** The recording of each rank. */
  readonly workers: readonly string[];
  /** The row of the rank that is looked for. */
  readonly found: number | null;
}

const isFound = ({ found }: Grid, { rows }: RankLine): boolean =>
  found !== null && rows.length === 1 && rows[0] === found;

/** The largest value of a line in a column, and whether one of its ranks came last. */
function cellOf({ lines, cells }: Grid, line: number, column: number) {
  let value: number | null = null;
  let isLast = false;
  let worst = lines[line]?.rows[0];
  for (const row of lines[line]?.rows ?? []) {
    const found = cells[row]?.values[column] ?? null;
    if (found !== null && (value === null || found > value)) {
      value = found;
      worst = row;
    }
    isLast = isLast || (cells[row]?.last[column] ?? false);
  }
  return { value, isLast, worst };
}

function cellWords(grid: Grid, metric: Metric, line: number, column: number): string {
  const { value, isLast } = cellOf(grid, line, column);
  const { columns, lines } = grid;
  const name = [columns.columns[column] ?? "", columns.details[column] ?? ""].join(" ").trim();
  const where = `${lines[line]?.label ?? ""}, ${/^\d/.test(name) ? "step " : ""}${harmless(name)}`;
  if (value === null) {
    return `${where}: not recorded`;
  }
  return `${where}: ${METRICS[metric].toLowerCase()} ${time(value)}${isLast ? ", came last" : ""}`;
}

/** The cell in Trace: the step of a rank, or the collective on the ranks that tell of it. */
function doorOf(grid: Grid, line: number, column: number) {
  const params = grid.columns.links[column]?.params;
  const { worst } = cellOf(grid, line, column);
  const worker = worst === undefined ? undefined : grid.workers[worst];
  return params === undefined || worker === undefined ? null : { worker, ...params };
}

interface CellProps {
  readonly grid: Grid;
  readonly metric: Metric;
  readonly line: number;
  readonly column: number;
}

function Cell({ grid, metric, line, column }: CellProps) {
  const { value, isLast } = cellOf(grid, line, column);
  const isNothing = value === null || value === 0;
  const words = isNothing ? (isLast ? "last" : "") : inScale(value, grid.scale);
  const hasTrace = useLeadsTo("timeline");
  const door = words === "" || !hasTrace ? null : doorOf(grid, line, column);
  return (
    <td
      className={`${rampClass(value, grid.most)}${isLast ? " last" : ""}`}
      title={cellWords(grid, metric, line, column)}
    >
      {door === null ? (
        words
      ) : (
        <ViewLink stem="timeline" params={door} className="heat-door">
          {words}
        </ViewLink>
      )}
    </td>
  );
}

/** Few cells: a table with figures. */
function LaidOut({ grid, metric, lost }: { grid: Grid; metric: Metric; lost: readonly string[] }) {
  const places = [...grid.columns.columns.keys()];
  return (
    <div className="scroll">
      <table className="heat">
        <thead>
          <tr>
            <th>
              <span className="unseen">Rank</span>
            </th>
            {places.map((column) => (
              <th key={column} scope="col">
                {harmless(grid.columns.columns[column] ?? "", 24)}
                <b>{grid.columns.details[column] ?? ""}</b>
              </th>
            ))}
            <Heading
              help="Time this rank waited for others in collectives, per step."
              className="num"
            >
              lost per step
            </Heading>
          </tr>
        </thead>
        <tbody>
          {grid.lines.map((one, line) => (
            <tr key={one.label} className={isFound(grid, one) ? "found" : ""}>
              <th scope="row">{one.label}</th>
              {places.map((column) => (
                <Cell key={column} grid={grid} metric={metric} line={line} column={column} />
              ))}
              <td className="num">{lost[line] ?? ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const GUTTER = 92;
const AXIS = 20;
const TALLEST = 620;

/** Heights of the lines: opened ranks are tall enough for their name. */
function heightsOf(lines: readonly RankLine[]): readonly number[] {
  const single = lines.filter(({ rows }) => rows.length === 1).length;
  const isMixed = single > 0 && single < lines.length;
  const even = Math.max(3, Math.min(22, Math.floor(TALLEST / Math.max(1, lines.length))));
  return lines.map(({ rows }) => (isMixed && rows.length === 1 ? 13 : even));
}

/** Many cells: a canvas, walked by arrows. */
function Painted({ grid, metric }: { grid: Grid; metric: Metric }) {
  const [place, width] = useWidth<HTMLDivElement>();
  const [at, setAt] = useState<{ line: number; column: number } | null>(null);
  const theme = useThemeName();
  const address = useAddress();
  const hasTrace = useLeadsTo("timeline");
  const heights = heightsOf(grid.lines);
  const height = heights.reduce((sum, one) => sum + one, 0) + AXIS;
  const count = grid.columns.columns.length;
  const wide = Math.max(1, (width - GUTTER) / Math.max(1, count));
  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme changes the tokens
  const paint = useCallback(
    (context: CanvasRenderingContext2D) => paintHeat(context, grid, heights, wide, at),
    [grid, heights, wide, at, theme],
  );
  const lineAt = (y: number) => {
    let top = 0;
    for (const [line, one] of heights.entries()) {
      top += one;
      if (y < top) {
        return line;
      }
    }
    return grid.lines.length - 1;
  };
  const point = (event: PointerEvent<HTMLCanvasElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - GUTTER) / wide);
    setAt(column < 0 || column >= count ? null : { line: lineAt(event.clientY - box.top), column });
  };
  const open = () => {
    const door = at === null || !hasTrace ? null : doorOf(grid, at.line, at.column);
    if (door !== null) {
      address.navigate(viewPatch("timeline", door));
    }
  };
  const walk = (event: KeyboardEvent) => {
    const moves: Readonly<Record<string, readonly [number, number]>> = {
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
    };
    const move = moves[event.key];
    if (event.key === "Enter") {
      open();
    } else if (move !== undefined) {
      event.preventDefault();
      const now = at ?? { line: 0, column: 0 };
      setAt({
        line: Math.max(0, Math.min(grid.lines.length - 1, now.line + move[0])),
        column: Math.max(0, Math.min(count - 1, now.column + move[1])),
      });
    }
  };
  return (
    <div ref={place}>
      <LiveCanvas
        paint={paint}
        cells={[]}
        className="heat-canvas"
        style={{ height }}
        role="img"
        tabIndex={0}
        aria-label={`${METRICS[metric]} of ${plural(grid.lines.length, "line")} of ranks in ${plural(count, "column")}; arrows walk them.`}
        onClick={open}
        onPointerMove={point}
        onPointerLeave={() => setAt(null)}
        onKeyDown={walk}
      />
      <p className="hint heat-words" role="status">
        {at === null
          ? "Point at a cell, or walk with the arrows. A click or Enter opens it in Trace."
          : capital(cellWords(grid, metric, at.line, at.column))}
      </p>
    </div>
  );
}

interface Pen {
  readonly context: CanvasRenderingContext2D;
  readonly grid: Grid;
  readonly wide: number;
  readonly token: (name: string) => string;
}

function paintLine(pen: Pen, line: number, top: number, height: number): void {
  const { context, grid, wide, token } = pen;
  const isOne = (grid.lines[line]?.rows.length ?? 0) === 1;
  const gap = height > 5 ? 1 : 0.5;
  for (const column of grid.columns.columns.keys()) {
    const { value, isLast } = cellOf(grid, line, column);
    if (value !== null) {
      const step = RAMP[rampStep(value, grid.most)] ?? "--h0";
      context.fillStyle = token(isLast && isOne ? "--k-comm" : step);
      const left = GUTTER + column * wide;
      context.fillRect(left, top, Math.max(1, wide - 1), Math.max(1, height - gap));
    }
  }
}

function paintAxis({ context, grid, wide }: Pen, top: number): void {
  const names = grid.columns.columns;
  let right = -100;
  for (const [column, name] of names.entries()) {
    const x = GUTTER + column * wide;
    const words = harmless(name, 12);
    const end = x + context.measureText(words).width;
    if (x - right >= 10 && end <= GUTTER + names.length * wide) {
      context.fillText(words, x, top + AXIS / 2 + 2);
      right = end;
    }
  }
}

function paintHeat(
  context: CanvasRenderingContext2D,
  grid: Grid,
  heights: readonly number[],
  wide: number,
  at: { line: number; column: number } | null,
): void {
  const style = getComputedStyle(document.documentElement);
  const tokens = new Map<string, string>();
  const token = (name: string) => {
    const known = tokens.get(name) ?? style.getPropertyValue(name).trim();
    tokens.set(name, known);
    return known;
  };
  const pen: Pen = { context, grid, wide, token };
  context.font = `11px ${token("--sans")}`;
  context.textBaseline = "middle";
  let top = 0;
  let named = -100;
  for (const [line, height] of heights.entries()) {
    paintLine(pen, line, top, height);
    if (at?.line === line) {
      context.strokeStyle = token("--ink");
      context.lineWidth = 2;
      const left = GUTTER + at.column * wide;
      context.strokeRect(left + 1, top + 1, Math.max(2, wide - 3), Math.max(2, height - 3));
    }
    if (top - named >= 14) {
      const one = grid.lines[line];
      context.fillStyle = token(one !== undefined && isFound(grid, one) ? "--accent" : "--ink-3");
      context.fillText(one?.label ?? "", 0, top + Math.max(6, height / 2), GUTTER - 8);
      named = top;
    }
    top += height;
  }
  context.fillStyle = token("--ink-3");
  paintAxis(pen, top);
}

/** The colours of the cells, from nothing to the most. */
export function HeatLegend({ most, children }: { most: number; children?: ReactNode }) {
  return (
    <p className="heat-legend hint">
      0
      {RAMP.map((token) => (
        <i key={token} style={{ background: `var(${token})` }} aria-hidden="true" />
      ))}
      {time(most)}
      {children}
    </p>
  );
}

function Legend({ grid, isPainted }: { grid: Grid; isPainted: boolean }) {
  return (
    <HeatLegend most={grid.most}>
      {isPainted ? (
        <>
          <i className="heat-last" aria-hidden="true" /> came last
        </>
      ) : null}
    </HeatLegend>
  );
}

const isLarge = (lines: number, columns: number) =>
  lines > MOST_ROWS || columns > MOST_LAID_OUT || lines * columns > MOST_CELLS;

/** Fewer ranks are found by eye. */
const MOST_WITHOUT_SEARCH = 16;

function foundWords(answer: Distributed, row: number): string {
  const rank = answer.ranks[row];
  if (rank === undefined) {
    return "";
  }
  const figures = [
    rank.cost_ns === null ? "" : `cost others ${time(rank.cost_ns)} a step`,
    rank.lost_ns === null ? "" : `lost ${time(rank.lost_ns)}`,
  ].filter(Boolean);
  return `${capital(rankName(rank))}${rank.node === "" ? "" : ` on ${harmless(rank.node, 40)}`}: ${figures.join(", ")}.`;
}

function FindRank({ answer, found }: { answer: Distributed; found: number | null }) {
  const words = useWords();
  const address = useAddress();
  const text = useValues()["distributed.find"] ?? "";
  if (answer.ranks.length <= MOST_WITHOUT_SEARCH) {
    return null;
  }
  const said = found === null ? "There is no such rank." : words(foundWords(answer, found));
  return (
    <div className="find-rank">
      <SearchField
        words="Find a rank or a node"
        value={text}
        onChange={(next) => address.replace({ "distributed.find": next || undefined })}
      />
      <span className="hint" role="status">
        {text === "" ? "" : said}
      </span>
    </div>
  );
}

/** The metric that is asked for, as far as there are figures. */
function metricOf(map: HeatColumns, asked: string | undefined): Metric {
  return (asked === "own" || asked === "start") && map[asked].length > 0 ? asked : "waiting";
}

const isColumns = (text: string | undefined): text is Columns =>
  text === "steps" || text === "collectives";

export function HeatMap({ answer, isOld }: { answer: Distributed; isOld: boolean }) {
  const words = useWords();
  const address = useAddress();
  const values = useValues();
  const asked = values["distributed.columns"];
  const columns: Columns = isColumns(asked)
    ? asked
    : answer.steps.columns.length > 2
      ? "steps"
      : "collectives";
  const map = answer[columns];
  const metric = metricOf(map, values["distributed.metric"]);
  const cells = map[metric];
  const worst = answer.look_at[0]?.rank ?? null;
  const found = useFoundRank(answer);
  const lines = linesOf(answer, found ?? worst);
  const most = Math.max(0, ...cells.flatMap(({ values: row }) => row.map((value) => value ?? 0)));
  const workers = answer.ranks.map(({ worker }) => worker);
  const grid: Grid = { lines, columns: map, cells, most, scale: timeScale(most), workers, found };
  const count = map.columns.length;
  const isPainted = isLarge(lines.length, count);
  const lost = lines.map(({ rows }) => {
    const ns = answer.ranks[rows[0] ?? 0]?.lost_ns ?? null;
    return ns === null ? "" : time(ns);
  });
  const grouped = lines.some(({ rows }) => rows.length > 1);
  const why = (key: Metric) =>
    map[key].length > 0 ? "" : (answer.reasons[key] ?? "Not available.");
  return (
    <Panel
      title={`${METRICS[metric]}, rank by ${columns === "steps" ? "step" : "collective"}`}
      hint={`${grid.scale.unit.name}; ${HINTS[columns][metric]}${grouped ? "; one line a node, its worst rank; costliest first" : ""}`}
      isOld={isOld}
      className="heat-panel"
      controls={
        <>
          <Segmented
            label="Columns"
            value={columns}
            options={[
              [
                "steps",
                "Step",
                answer.steps.columns.length > 0 ? "" : words("No step was recorded."),
              ],
              ["collectives", "Collective"],
            ]}
            onChange={(next) => address.replace({ "distributed.columns": next })}
          />
          <Segmented
            label="Figure"
            value={metric}
            options={(["waiting", "own", "start"] as const).map((key) => [
              key,
              METRICS[key],
              why(key),
            ])}
            onChange={(next) =>
              address.replace({ "distributed.metric": next === "waiting" ? undefined : next })
            }
          />
          <CopyTable label="the heat map" table={() => toPlain(answer, map, cells)} />
        </>
      }
    >
      <FindRank answer={answer} found={found} />
      {count === 0 || cells.length === 0 ? (
        <Paragraph
          className="ink2 small"
          text={words(
            answer.reasons[metric] ?? "No collective of the chosen steps is on two ranks.",
          )}
        />
      ) : isPainted ? (
        <>
          <Legend grid={grid} isPainted />
          <Painted grid={grid} metric={metric} />
        </>
      ) : (
        <>
          <LaidOut grid={grid} metric={metric} lost={lost} />
          <Legend grid={grid} isPainted={false} />
        </>
      )}
    </Panel>
  );
}

const toPlain = (answer: Distributed, map: HeatColumns, cells: readonly RankCell[]) => ({
  header: ["rank", ...map.columns.map((name, at) => `${name} ${map.details[at] ?? ""}`.trim())],
  rows: cells.map(({ values }, row) => {
    const rank = answer.ranks[row];
    return [rank === undefined ? "" : rankName(rank), ...values];
  }),
});
