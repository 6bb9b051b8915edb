/** The pieces of the step side by side, and those inside one of them. */
import { useState } from "react";
import type { Pieces as Answer, DiffQuery, DiffRow, Piece } from "../../api/types.gen";
import { change, time } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { CopyTable } from "../../components/controls/copy_table";
import { Segmented } from "../../components/controls/segmented";
import {
  declaredColumns,
  declaredToPlain,
  hiddenByDefault,
} from "../../components/data_table/declared";
import { useSorted } from "../../components/data_table/rows";
import { DataTable } from "../../components/data_table/table";
import { hiddenIn } from "../../components/overlays/columns_menu";
import { Tip } from "../../components/overlays/tip";
import { Answered } from "../../components/states/answered";
import { FirstRows } from "../../components/states/first_few";
import { Panel } from "../../components/states/panel";
import { CodeName } from "../../components/text/code_name";
import { useAddress, useValues } from "../../state/host/environment";
import { useAsked, usePart } from "../../state/parts";
import { percent } from "./figures";
import { cellsOf } from "./table_view";
import { Trend } from "./trend";

type Time = "host" | "device";

type Pair = readonly [base: number, other: number];

const of = (piece: Piece, which: Time): Pair =>
  which === "host"
    ? [piece.base_ns, piece.other_ns]
    : [piece.base_device_ns, piece.other_device_ns];

const changeClass = (ns: number) => (ns === 0 ? "dim" : ns < 0 ? "better" : "worse");

const OUTSIDE =
  "The main thread is in none of these: Python that no range names, waiting for other threads or for the device";

/** What the pieces leave of the steps, so that all changes add up to that of the step; null: nothing. */
export function outside(pieces: readonly Piece[], steps: Pair): Pair | null {
  const left = (at: 0 | 1) =>
    pieces.reduce((rest, piece) => rest - of(piece, "host")[at], steps[at]);
  const [base, other] = [left(0), left(1)];
  return Math.min(base, other) < 0 || Math.max(base, other) < 1 ? null : [base, other];
}

interface BarsProps {
  readonly answer: Answer;
  readonly which: Time;
  /** The mean steps that the pieces are of; null: they are of something else. */
  readonly steps: Pair | null;
  readonly onEnter: (path: string) => void;
}

/** Bars of both, and what has come together from the first piece on. */
function Bars({ answer, which, steps, onEnter }: BarsProps) {
  const rest = steps === null || which === "device" ? null : outside(answer.pieces, steps);
  const most = Math.max(...answer.pieces.flatMap((piece) => of(piece, which)), ...(rest ?? []), 1);
  let sum = 0;
  return (
    <div className="diff-pieces">
      <span />
      <span />
      <span className="hint num">change per step</span>
      <span className="hint num" title="Changes of this piece and of all before it">
        so far
      </span>
      {answer.pieces.map((piece) => {
        const [base, other] = of(piece, which);
        sum += other - base;
        const name = harmless(piece.name);
        const words = `${name}: ${time(base)} → ${time(other)} per step`;
        return (
          <div className="diff-piece" key={piece.path}>
            <button
              type="button"
              className="link clip"
              title={
                piece.has_inside
                  ? `${words}\nOpens the pieces inside`
                  : `${words}\nOpens its operators`
              }
              onClick={() => onEnter(piece.path)}
            >
              {name} <span className="dim">›</span>
            </button>
            <Change words={words} pair={[base, other]} most={most} soFar={sum} />
          </div>
        );
      })}
      {rest === null ? null : (
        <div className="diff-piece">
          <span className="dim">
            <Tip text={OUTSIDE}>outside of pieces</Tip>
          </span>
          <Change
            words={`${time(rest[0])} → ${time(rest[1])} per step`}
            pair={rest}
            most={most}
            soFar={sum + rest[1] - rest[0]}
          />
        </div>
      )}
    </div>
  );
}

interface ChangeProps {
  readonly words: string;
  readonly pair: Pair;
  readonly most: number;
  readonly soFar: number;
}

function Change({ words, pair: [base, other], most, soFar }: ChangeProps) {
  return (
    <>
      <span className="diff-two" title={words}>
        <i style={{ width: `${(base / most) * 100}%` }} />
        <i className="other" style={{ width: `${(other / most) * 100}%` }} />
      </span>
      <span className={`num nowrap ${changeClass(other - base)}`}>
        {change(other - base)}{" "}
        <span className="dim">{other === base ? "" : percent(base, other)}</span>
      </span>
      <span className={`num nowrap ${changeClass(soFar)}`}>{change(soFar)}</span>
    </>
  );
}

function Operators({ answer: { columns: heads, rows } }: { answer: Answer }) {
  const all = declaredColumns(heads, rows, cellsOf(rows, "total_ns")).map((column) =>
    // The largest change first, whatever its sign.
    column.key === "change_ns"
      ? { ...column, sort: (row: DiffRow) => Math.abs(row.change_ns) }
      : column,
  );
  const hidden = hiddenIn(undefined, hiddenByDefault(heads));
  const columns = all.filter(({ key }) => !hidden.has(key));
  const sorted = useSorted(rows, columns, { key: "change_ns", isDown: true });
  return (
    <DataTable
      label="Operators of this piece"
      columns={columns}
      {...sorted}
      keyOf={(row) => `${row.name} ${row.detail}`}
      toPlain={declaredToPlain<DiffRow>(heads)}
      empty="No operator ran in it."
    />
  );
}

const AT_FIRST = 6;

/** The operators that changed most, where the piece was opened. */
function Largest({ rows, total }: { readonly rows: readonly DiffRow[]; readonly total: number }) {
  const largest = [...rows].sort((a, b) => Math.abs(b.change_ns) - Math.abs(a.change_ns));
  return (
    <FirstRows
      items={largest}
      total={total}
      most={AT_FIRST}
      head="Operator"
      help="Largest changes in this piece."
      keyOf={(row) => `${row.name} ${row.detail}`}
      nameOf={(row) => <CodeName name={row.name} />}
      figures={[
        { head: "A", help: "Per step in A.", words: (row) => time(row.base_ns) },
        { head: "B", help: "Per step in B.", words: (row) => time(row.other_ns) },
        { head: "Change", help: "B less A.", words: (row) => change(row.change_ns) },
      ]}
    />
  );
}

/** The operators of the piece that is open. */
export function PieceRows({ query }: { query: DiffQuery }) {
  const path = useValues()["diff.path"] ?? "";
  const state = usePart("diff/pieces", useAsked(), { ...query, path }, true);
  if (path === "" || state.data === undefined) {
    return null;
  }
  const { trail, columns, rows, row_count } = state.data;
  return (
    <Panel
      title={`Operators inside: ${harmless(trail[trail.length - 1] ?? "the step")}`}
      hint={`host total, per step${row_count > rows.length ? `, the first ${rows.length} of ${row_count}` : ""}`}
      isOld={state.isOld}
      controls={
        <CopyTable
          label="the operators inside"
          table={() => declaredToPlain<DiffRow>(columns)(rows)}
        />
      }
      hasBody={false}
    >
      <Operators answer={state.data} />
    </Panel>
  );
}

interface CrumbsProps {
  /** Places of the pieces that are open, from the outermost on. */
  readonly steps: readonly string[];
  readonly trail: readonly string[];
  readonly enter: (path: string) => void;
}

function Crumbs({ steps, trail, enter }: CrumbsProps) {
  return steps.length === 0 ? null : (
    <nav className="crumbs diff-crumbs" aria-label="Piece that is open">
      <button type="button" className="link" onClick={() => enter(steps.slice(0, -1).join("-"))}>
        ← Back
      </button>
      <button type="button" className="link" onClick={() => enter("")}>
        The step
      </button>
      {trail.map((name, at) => (
        <button
          key={steps.slice(0, at + 1).join("-")}
          type="button"
          className="link"
          onClick={() => enter(steps.slice(0, at + 1).join("-"))}
        >
          › {harmless(name)}
        </button>
      ))}
    </nav>
  );
}

interface PiecesProps {
  readonly query: DiffQuery;
  /** The mean steps of both. */
  readonly steps: Pair;
}

export function Pieces({ query, steps: means }: PiecesProps) {
  const address = useAddress();
  const values = useValues();
  const path = values["diff.path"] ?? "";
  const isTrend = values["diff.pieces"] === "trend";
  const [which, setWhich] = useState<Time>("host");
  const state = usePart("diff/pieces", useAsked(), { ...query, path }, true);
  const enter = (next: string) => address.navigate({ "diff.path": next === "" ? undefined : next });
  const steps = path === "" ? [] : path.split("-");
  return (
    <Panel
      title="Pieces of the step"
      hint="mean step"
      isOld={state.isOld}
      controls={
        <>
          <Segmented
            label="Drawn as"
            options={[
              ["list", "List"],
              ["trend", "Trend"],
            ]}
            value={isTrend ? "trend" : "list"}
            onChange={(next) =>
              address.replace({ "diff.pieces": next === "trend" ? next : undefined })
            }
          />
          <Segmented
            label="Time"
            options={[
              ["host", "Host"],
              ["device", "Device"],
            ]}
            value={which}
            onChange={setWhich}
          />
          <CopyTable
            label="the pieces"
            table={() =>
              declaredToPlain<Piece>(state.data?.pieces_columns ?? [])(state.data?.pieces ?? [])
            }
          />
        </>
      }
    >
      <Answered state={state}>
        {(answer) => (
          <>
            <Crumbs steps={steps} trail={answer.trail} enter={enter} />
            {answer.pieces.length > 0 && isTrend ? (
              <Trend
                key={path}
                pieces={answer.pieces}
                of={(piece) => of(piece, which)}
                onEnter={enter}
              />
            ) : answer.pieces.length > 0 ? (
              <Bars
                answer={answer}
                which={which}
                steps={path === "" ? means : null}
                onEnter={enter}
              />
            ) : (
              <p className="empty dim">
                {answer.missing || "There is nothing further inside that both have."}
              </p>
            )}
            <p className="hint diff-pieces-note">
              {steps.length === 0
                ? "Press a piece to go inside it. With modules in both recordings the pieces are modules."
                : "All figures of its operators are below."}
            </p>
            {steps.length === 0 ? null : <Largest rows={answer.rows} total={answer.row_count} />}
          </>
        )}
      </Answered>
    </Panel>
  );
}
