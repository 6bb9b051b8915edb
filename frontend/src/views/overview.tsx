/** Where did the step's time go, and what to do about it? */
import { toProblem } from "../api/problem";
import type {
  Overview as Answer,
  Configuration as Entry,
  OverviewQuery,
  Sentence,
} from "../api/types.gen";
import { count } from "../base/format";
import { adoptStyles } from "../base/styles";
import { ProblemNote } from "../components/problem_note";
import { Prose } from "../components/prose";
import { ViewReading } from "../components/view_reading";
import { bestState } from "../state/choice";
import { useAddress, useValues } from "../state/environment";
import type { Values } from "../state/fragment";
import { type Page, usePage } from "../state/page_context";
import { useView } from "../state/queries";
import { useLasting } from "../state/timing";
import { Configuration } from "./overview/configuration";
import { Devices } from "./overview/devices";
import { EveryStep } from "./overview/every_step";
import { Findings } from "./overview/findings";
import overviewCss from "./overview/overview.css?inline";
import { Ruler } from "./overview/ruler";
import { Skeleton } from "./overview/skeleton";
import { Summary } from "./overview/summary";

adoptStyles(overviewCss);

function queryOf({ steps, device }: Values): OverviewQuery {
  const row = Number(device);
  return {
    ...(steps === undefined ? {} : { steps }),
    ...(device === undefined || !Number.isInteger(row) ? {} : { device: row }),
  };
}

function Hero({ sentence, isOld }: { sentence: Sentence; isOld: boolean }) {
  const isDim = useLasting(isOld);
  return (
    <section className={isDim ? "hero stale" : "hero"} aria-live="polite">
      <h1>
        <Prose text={sentence.headline} />
      </h1>
      <p className="prose">
        <Prose text={sentence.detail} />{" "}
        {sentence.agreement === "" ? null : <span className="chip">{sentence.agreement}</span>}
      </p>
    </section>
  );
}

/** Parts that say for themselves why they are missing. */
const PLACED = new Set(["steps", "devices"]);

/** How many workers the run has: one recording does not know of the others. */
function workersOfRun({ catalog, shown }: Page): Entry[] {
  const run = catalog.runs.find(({ name }) => name === shown?.key.run);
  if (run === undefined) {
    return [];
  }
  const total = run.workers.length;
  const read = run.workers.filter(({ spans }) => bestState(spans) === "ready").length;
  const value = read < total ? `${count(total)}, ${count(read)} of them read` : count(total);
  return [{ label: "Workers of the run", value }];
}

function Figures({ overview, isOld }: { overview: Answer; isOld: boolean }) {
  const { findings, unanswered, unchecked, rule_count, summary } = overview;
  const { devices, configuration, missing } = overview;
  const page = usePage();
  return (
    <>
      <Hero sentence={overview.sentence} isOld={isOld} />
      <Ruler overview={overview} isOld={isOld} />
      <div className="grid overview-grid">
        <div className="span-6 stack">
          <Findings
            findings={findings}
            unanswered={unanswered}
            unchecked={unchecked}
            ruleCount={rule_count}
            isOld={isOld}
          />
          <Configuration
            entries={[...workersOfRun(page), ...configuration]}
            missing={Object.entries(missing).filter(([part]) => !PLACED.has(part))}
            isOld={isOld}
          />
        </div>
        <div className="span-6 stack">
          <EveryStep overview={overview} isOld={isOld} />
          <div className="cards">
            <Devices devices={devices} missing={missing["devices"]} isOld={isOld} />
            <Summary rows={summary} stepCount={overview.ruler.step_count} isOld={isOld} />
          </div>
        </div>
      </div>
    </>
  );
}

export default function Overview() {
  const address = useAddress();
  const values = useValues();
  const { data, isOld, reading, problem, again } = useView("overview", queryOf(values));
  if (problem !== null) {
    const isChoice = values["steps"] !== undefined || values["device"] !== undefined;
    return (
      <div className="stack">
        <ProblemNote problem={toProblem(problem)} again={again} />
        {isChoice ? (
          <button
            type="button"
            className="btn small"
            onClick={() => address.replace({ steps: undefined, device: undefined })}
          >
            Show the default steps and device
          </button>
        ) : null}
      </div>
    );
  }
  if (reading !== null) {
    return <ViewReading progress={reading} />;
  }
  return data === undefined ? <Skeleton /> : <Figures overview={data} isOld={isOld} />;
}
