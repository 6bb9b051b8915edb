/** What changed between two recordings, by how much, and is it real? */
import type { Diff, DiffCount, DiffGroup, DiffQuery, ReadProgress } from "../../api/types.gen";
import { adoptStyles } from "../../base/style/styles";
import { bytes, count, DASH, flops, MINUS } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { Segmented } from "../../components/controls/segmented";
import { DeclaredTable } from "../../components/data_table/declared";
import { Skeleton, ViewAnswer } from "../../components/states/answered";
import { Panel } from "../../components/states/panel";
import { progressWords, ReadBar } from "../../components/states/read_progress";
import { Hero } from "../../components/text/hero";
import { Prose } from "../../components/text/prose";
import { useAddress, useValues } from "../../state/host/environment";
import { type Shown, usePage } from "../../state/page_context";
import { type Base, baseOf, queryOf, spanOf } from "./base";
import { Bridge } from "./bridge";
import diffCss from "./diff.css?inline";
import { DiffFlameGraph } from "./flame";
import { PieceRows, Pieces } from "./pieces";
import { BasePicker, Sides } from "./sides";
import { Changes } from "./table_view";
import { TwoTimelines } from "./timelines";

adoptStyles(diffCss);

/** What is counted per step, and what the two recordings do not have in common. */

function words({ unit }: DiffCount, value: number): string {
  return unit === "bytes"
    ? bytes(value)
    : unit === "flop"
      ? flops(value)
      : count(Math.round(value));
}

function difference(one: DiffCount): string {
  const { change } = one;
  return change === 0 ? "0" : `${change < 0 ? MINUS : "+"}${words(one, Math.abs(change))}`;
}

function Counts({ answer, isOld }: { answer: Diff; isOld: boolean }) {
  return (
    <Panel
      title="Counted per step"
      hint="no statistics needed where a number repeats"
      isOld={isOld}
    >
      <DeclaredTable
        label="the counts"
        heads={answer.counts_columns}
        rows={answer.counts}
        keyOf={({ key }) => key}
        cells={{
          base: (one) => words(one, one.base),
          other: (one) => words(one, one.other),
          change: (one) => <span className={one.change === 0 ? "dim" : ""}>{difference(one)}</span>,
          is_exact: ({ is_exact }) => (
            <span className="dim">{is_exact ? "exactly" : "on average"}</span>
          ),
        }}
      />
    </Panel>
  );
}

function Limits({ answer, isOld }: { answer: Diff; isOld: boolean }) {
  const rows = answer.mismatches;
  return (
    <Panel
      title="Are they comparable?"
      hint={rows.length === 0 ? "nothing speaks against it" : ""}
      isOld={isOld}
    >
      {rows.length === 0 ? (
        <p className="dim">
          Device, ranks, clocks, format of torch, shapes and options of the profiler agree.
        </p>
      ) : (
        <ul className="diff-limits">
          {rows.map((one) => (
            <li key={one.what}>
              <span aria-hidden="true">△</span> <Prose text={one.text} />{" "}
              {one.base === "" && one.other === "" ? null : (
                <span className="dim">
                  A {one.base || DASH} · B {one.other || DASH}
                </span>
              )}
            </li>
          ))}
        </ul>
      )}
      {answer.reason === "" ? null : (
        <p className="hint">
          <Prose text={answer.reason} />
        </p>
      )}
    </Panel>
  );
}

type Tab = DiffGroup | "flame" | "timelines";
const TABS: readonly (readonly [Tab, string])[] = [
  ["operators", "Operators"],
  ["kernels", "Kernels"],
  ["modules", "Modules"],
  ["memory", "Memory"],
  ["flame", "Flame graph"],
  ["timelines", "Two timelines"],
];

function Tables({ answer, query, base }: { answer: Diff; query: DiffQuery; base: Base }) {
  const address = useAddress();
  const values = useValues();
  const wanted = TABS.find(([key]) => key === values["diff.tab"])?.[0] ?? "operators";
  const tab = answer.missing[wanted] === undefined ? wanted : "operators";
  const hasDevice = answer.missing["kernels"] === undefined;
  const modes = (
    <Segmented
      label="Rows"
      options={TABS.map(([key, words]) => [key, words, answer.missing[key] ?? ""] as const)}
      value={tab}
      onChange={(next) =>
        address.replace({
          "diff.tab": next === "operators" ? undefined : next,
          "diff.metric": undefined,
          "diff.row": undefined,
        })
      }
    />
  );
  if (tab === "timelines") {
    return <TwoTimelines query={query} base={base} modes={modes} />;
  }
  return tab === "flame" ? (
    <DiffFlameGraph query={query} modes={modes} hasDevice={hasDevice} />
  ) : (
    <Changes
      key={tab}
      query={query}
      group={tab}
      usualKey={answer.kernels_by}
      hasDevice={hasDevice}
      modes={modes}
    />
  );
}

interface FiguresProps {
  readonly answer: Diff;
  readonly isOld: boolean;
  readonly query: DiffQuery;
  readonly base: Base;
  readonly shown: Shown;
}

function Figures({ answer, isOld, query, base, shown }: FiguresProps) {
  return (
    <div className={isOld ? "stack stale" : "stack"}>
      <div className="diff-head">
        <div className="grow">
          <Hero headline={answer.headline} detail={answer.detail} isOld={isOld}>
            {answer.settle === "" ? null : <b>{answer.settle}</b>}{" "}
            {answer.certainty === "" ? null : (
              <span className="chip diff-certainty">{answer.certainty}</span>
            )}
          </Hero>
          {answer.outliers.map((text) => (
            <p className="hint" key={text}>
              <Prose text={text} />
            </p>
          ))}
        </div>
        <Sides base={base} shown={shown} answer={answer} />
      </div>
      <div className="grid diff-grid">
        <Bridge answer={answer} isOld={isOld} />
        <Pieces query={query} steps={[answer.base.mean_ns, answer.other.mean_ns]} />
        <Counts answer={answer} isOld={isOld} />
        <Limits answer={answer} isOld={isOld} />
      </div>
      <PieceRows query={query} />
      <Tables answer={answer} query={query} base={base} />
    </div>
  );
}

interface ComparingProps {
  readonly progress: ReadProgress;
  readonly base: Base;
  readonly shown: Shown;
}

/** Which of the two is being read or prepared, how far that is, and a way to choose another. */
function Comparing({ progress, base, shown }: ComparingProps) {
  const { catalog } = usePage();
  const own = spanOf(catalog, shown);
  const name = (run: string, worker: string) =>
    base.run.name === shown.key.run ? `${run} ${worker}` : run;
  const sides = [
    ["A", name(base.run.name, base.worker.name), base.span],
    ["B", name(shown.key.run, shown.key.worker), own],
  ] as const;
  return (
    <section className="stack" aria-live="polite">
      <h1>
        Comparing {harmless(sides[0][1])} with {harmless(sides[1][1])}
      </h1>
      <p className="ink2">
        Each recording is read and prepared once. This page opens by itself, and the other views can
        be used meanwhile.
      </p>
      {sides.map(([tag, words, span]) => {
        const isUnderWay = span?.file === progress.file;
        return (
          <div className="diff-reading" key={tag}>
            <span className={tag === "A" ? "diff-tag" : "diff-tag other"}>{tag}</span>
            <span className="clip" title={harmless(span?.file ?? words, 400)}>
              {harmless(words)}
            </span>
            {isUnderWay ? <ReadBar progress={progress} label={harmless(words)} /> : <span />}
            <span className="ink2">
              {isUnderWay
                ? progressWords(progress)
                : span?.state === "ready"
                  ? "is read"
                  : "waits its turn"}
            </span>
          </div>
        );
      })}
      <div className="diff-side">
        <span className="hint">Compare with</span>
        <BasePicker base={base} />
      </div>
    </section>
  );
}

/** Nothing to compare with yet. */
function Choose({ isAlone }: { isAlone: boolean }) {
  return (
    <section className="stack diff-choose">
      <h1>{isAlone ? "There is only one recording." : "Choose what to compare with."}</h1>
      <p className="prose">
        {isAlone
          ? "Change the training and record it into another folder beside this one. This page then says what changed, and whether it is more than noise. You can also compare two steps or two workers."
          : "The shown recording is B, the experiment. The baseline A is any other run, another worker of this run, or other steps of the same."}
      </p>
      <div className="diff-side">
        <span className="diff-tag">A</span>
        <BasePicker base={null} />
      </div>
    </section>
  );
}

export default function DiffView() {
  const values = useValues();
  const { catalog, shown } = usePage();
  const base = shown === null ? null : baseOf(catalog, shown, values);
  if (shown === null || base === null) {
    return <Choose isAlone={catalog.runs.length < 2} />;
  }
  const query = queryOf(base, values);
  const seen = values["diff.seen"];
  const division = seen === "device" || seen === "host" || seen === "classic" ? seen : "";
  return (
    <ViewAnswer
      stem="diff"
      query={{ ...query, seen: division }}
      waiting={<Skeleton heights={[56, 300, 420]} />}
      reading={(progress) => <Comparing progress={progress} base={base} shown={shown} />}
      remedy={
        <div className="diff-side">
          <span className="diff-tag">A</span>
          <BasePicker base={base} />
        </div>
      }
    >
      {(answer, isOld) => (
        <Figures answer={answer} isOld={isOld} query={query} base={base} shown={shown} />
      )}
    </ViewAnswer>
  );
}
