import type {
  Overview as Answer,
  Configuration as Entry,
  OverviewQuery,
  RanksSentence,
} from "../../api/types.gen";
import { adoptStyles } from "../../base/style/styles";
import { plainTable } from "../../base/text/delimited";
import { count, plural } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { CopyTable } from "../../components/controls/copy_table";
import { ViewLink } from "../../components/controls/view_link";
import { Skeleton, ViewAnswer } from "../../components/states/answered";
import { Panel } from "../../components/states/panel";
import { Hero } from "../../components/text/hero";
import { Paragraph, Prose } from "../../components/text/prose";
import { useAddress, useEnvironment, useValues } from "../../state/host/environment";
import { bestState } from "../../state/location/choice";
import type { Values } from "../../state/location/fragment";
import { canFill, type Page, usePage } from "../../state/page_context";
import { useAsked, usePart } from "../../state/parts";
import { hasWaiting } from "../../state/queries";
import { hintFor } from "../../state/step_times";
import { Devices } from "./devices";
import { Findings } from "./findings";
import { Idle } from "./idle";
import { MeasuredFigures } from "./measured";
import { Others } from "./others";
import overviewCss from "./overview.css?inline";
import { Light, Ruler } from "./ruler";
import { ServedModel } from "./serving";
import { EveryStep } from "./steps/every_step";
import { Summary } from "./summary";

/** How the run was recorded, and what of this page it cannot fill. */

interface ConfigurationProps {
  readonly entries: readonly Entry[];
  /** Parts of the page without a place of their own → why they are missing. */
  readonly missing: readonly (readonly [string, string])[];
  readonly isOld: boolean;
}

const entriesTable = plainTable<Entry>(["label", "value"]);

export function Configuration({ entries, missing, isOld }: ConfigurationProps) {
  return (
    <Panel
      title="Configuration"
      isOld={isOld}
      className="configuration"
      controls={<CopyTable label="the configuration" table={() => entriesTable(entries)} />}
    >
      <dl className="facts">
        {entries.map(({ label, value }) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>
              <Prose text={value} />
            </dd>
          </div>
        ))}
      </dl>
      {missing.length === 0 ? null : (
        <details className="missing small">
          <summary>{count(missing.length)} not recorded</summary>
          {missing.map(([part, reason]) => (
            <Paragraph key={part} className="ink2" text={reason} />
          ))}
        </details>
      )}
    </Panel>
  );
}

/** Where did the step's time go, and what to do about it? */

adoptStyles(overviewCss);

function queryOf({ steps, device }: Values): OverviewQuery {
  return {
    ...(steps === undefined ? {} : { steps }),
    ...(device === undefined ? {} : { device }),
  };
}

/** Parts that say for themselves why they are missing. */
const PLACED = new Set(["steps", "parts"]);

/** How many workers the run has: one recording does not know of the others. */
function workersOfRun({ catalog, shown }: Page): Entry[] {
  const run = catalog.runs.find(({ name }) => name === shown?.key.run);
  if (run === undefined) {
    return [];
  }
  const total = run.workers.length;
  const read = run.workers.filter(({ spans }) => bestState(spans) === "ready").length;
  const value = read < total ? `${count(total)}, ${count(read)} of them read` : count(total);
  return [{ label: "Workers", value }];
}

/** Of more workers, the comparison is made when it is asked for. */
const MOST_COMPARED = 64;

/** Whether the ranks of the run differ, and the way to their comparison. */
function AmongRanks({ findings, sentence: top }: Pick<Answer, "findings" | "sentence">) {
  const { catalog, shown } = usePage();
  const steps = useValues()["steps"] ?? "";
  const run = catalog.runs.find(({ name }) => name === shown?.key.run);
  const total = run?.workers.length ?? 0;
  const canAsk = canFill(shown, "distributed");
  const isFew = total <= MOST_COMPARED;
  const query = canAsk && isFew ? { steps } : null;
  const { data } = usePart("distributed/sentence", useAsked(), query, false, hasWaiting);
  if (!canAsk || (isFew && (data === undefined || data.ranks < 2))) {
    return null;
  }
  // The same stands above, or below in a finding. In a sentence it begins with a small letter.
  const said = data?.sentence.slice(1) ?? "";
  const isSaid =
    data !== undefined &&
    [top.beyond, ...findings.map(({ text }) => text)].some((text) => text.includes(said));
  return (
    <p className="prose among-ranks">
      {data === undefined || isSaid ? (
        <b>{plural(data?.ranks ?? total, data === undefined ? "worker" : "rank")} </b>
      ) : (
        <Differences found={data} />
      )}
      <ViewLink stem="distributed">Compare them</ViewLink>
    </p>
  );
}

function Differences({ found: { ranks, roles, sentence, waiting } }: { found: RanksSentence }) {
  return (
    <>
      <b>{plural(ranks, "rank")}</b>
      {roles === "" ? "" : ` (${roles})`}: <Prose text={sentence} />{" "}
      {waiting === 0 ? "" : `${count(waiting)} more being read. `}
    </>
  );
}

interface FiguresProps {
  readonly overview: Answer;
  readonly query: OverviewQuery;
  readonly isOld: boolean;
}

/** Another run of the same script is faster or slower: by how much, and a way to ask why. */
function CompareHint() {
  const { address } = useEnvironment();
  const { catalog, shown, titles } = usePage();
  const hint = shown === null || !titles.has("diff") ? null : hintFor(catalog.runs, shown.key.run);
  if (hint === null) {
    return null;
  }
  return (
    <span className="chip">
      {harmless(hint.words)} {hint.amount},{" "}
      <a
        href={address.href(hint.patch)}
        onClick={(event) => {
          if (event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
            event.preventDefault();
            address.navigate(hint.patch);
          }
        }}
      >
        why?
      </a>
    </span>
  );
}

function Figures({ overview, query, isOld }: FiguresProps) {
  const { findings, unanswered, unchecked, rule_count, summary } = overview;
  const { devices, configuration, missing } = overview;
  const { agreement } = overview.sentence;
  const page = usePage();
  return (
    <>
      <Hero headline={overview.sentence.headline} detail={overview.sentence.beyond} isOld={isOld}>
        {agreement === "" ? null : <span className="chip">{agreement}</span>} <CompareHint />
      </Hero>
      <AmongRanks findings={findings} sentence={overview.sentence} />
      {overview.serving === null ? null : <ServedModel serving={overview.serving} isOld={isOld} />}
      <Ruler overview={overview} isOld={isOld} />
      <Light query={query} isOld={isOld} />
      <div className="grid overview-grid">
        <div className="span-6 stack">
          <Findings
            noun={overview.noun}
            findings={findings}
            unanswered={unanswered}
            unchecked={unchecked}
            ruleCount={rule_count}
            isOld={isOld}
          />
        </div>
        <div className="span-6 stack">
          <EveryStep overview={overview} isOld={isOld} />
          <div className="cards">
            <Devices devices={devices} isOld={isOld} />
            <Summary rows={summary} missing={missing["parts"]} isOld={isOld} />
          </div>
        </div>
      </div>
      <MeasuredFigures overview={overview} isOld={isOld} />
      <Idle overview={overview} query={query} isOld={isOld} />
      <Others />
      <Configuration
        entries={[...workersOfRun(page), ...configuration]}
        missing={Object.entries(missing).filter(([part]) => !PLACED.has(part))}
        isOld={isOld}
      />
    </>
  );
}

export default function Overview() {
  const address = useAddress();
  const values = useValues();
  const isChoice = values["steps"] !== undefined || values["device"] !== undefined;
  return (
    <ViewAnswer
      stem="overview"
      query={queryOf(values)}
      waiting={<Skeleton heights={[56, 148, 380]} />}
      remedy={
        isChoice ? (
          <button
            type="button"
            className="btn small"
            onClick={() => address.replace({ steps: undefined, device: undefined })}
          >
            Show the default steps and device
          </button>
        ) : null
      }
    >
      {(overview, isOld) => <Figures overview={overview} query={queryOf(values)} isOld={isOld} />}
    </ViewAnswer>
  );
}
