/** Which rank makes the others wait, and why? */
import type { ReactNode } from "react";
import type { Distributed } from "../../api/types.gen";
import { adoptStyles } from "../../base/style/styles";
import { count, plural } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { ViewLink } from "../../components/controls/view_link";
import { Skeleton, ViewAnswer } from "../../components/states/answered";
import { progressWords } from "../../components/states/read_progress";
import { Hero } from "../../components/text/hero";
import { useAddress, useValues } from "../../state/host/environment";
import { useLeadsTo } from "../../state/page_context";
import { useAsked, usePart } from "../../state/parts";
import { useView } from "../../state/queries";
import { Bandwidth } from "./bandwidth";
import { Blame } from "./blame";
import distributedCss from "./distributed.css?inline";
import { Groups } from "./groups";
import { HeatMap } from "./heat";
import { Layout } from "./layout";
import { Collectives, Operations } from "./lists";
import { Findings, Hang, Notes } from "./notes";
import { rankName } from "./rank_names";
import { RankSteps } from "./rank_steps";
import { Nodes, Ranks, Stages } from "./sets";
import { WhatIf } from "./what_if";

adoptStyles(distributedCss);

function useDistributedQuery() {
  const values = useValues();
  const [steps, roles] = [values["steps"], values["distributed.roles"]];
  return {
    ...(steps === undefined ? {} : { steps }),
    ...(roles === undefined ? {} : { roles }),
    ...(values["distributed.partial"] === "1" ? { so_far: true } : {}),
  };
}

/** Recordings are being read: how far that is, and whether those that are there are compared. */
function Rereading({ answer: { read, waiting } }: { answer: Distributed }) {
  const address = useAddress();
  const isPartial = useValues()["distributed.partial"] === "1";
  const { reading } = useView("distributed", useDistributedQuery());
  return (
    <span className="reading-ranks">
      <span
        className="bar"
        role="progressbar"
        aria-label="Ranks read"
        aria-valuemin={0}
        aria-valuemax={read + waiting}
        aria-valuenow={read}
      >
        <i style={{ width: `${(read / (read + waiting)) * 100}%` }} />
      </span>
      <span role="status">{plural(waiting, "recording")} being read</span>
      {reading === null ? null : <span className="dim">{progressWords(reading)}</span>}
      {read > 1 ? (
        <button
          type="button"
          className="btn small"
          onClick={() => address.replace({ "distributed.partial": isPartial ? undefined : "1" })}
        >
          {isPartial ? "Wait for all" : `Compare the ${count(read)} that are read`}
        </button>
      ) : null}
    </span>
  );
}

/** The ranks that say most together, on one time axis. */
function LookAt({ answer }: { answer: Distributed }) {
  const hasTrace = useLeadsTo("timeline");
  const names = answer.look_at.flatMap(({ rank, kind }) => {
    const found = answer.ranks[rank];
    return found === undefined ? [] : [{ kind, found }];
  });
  const [first, ...others] = names;
  if (first === undefined || !hasTrace) {
    return null;
  }
  const escaped = (name: string) => name.replaceAll("%", "%25").replaceAll(",", "%2C");
  return (
    <section className="panel look-at" aria-label="Ranks to look at">
      <span className="label">Open these ranks together</span>
      <span className="row wrap">
        {names.map(({ kind, found }) => (
          <span key={found.worker} className="chip">
            {rankName(found)}: {kind}
          </span>
        ))}
        <ViewLink
          stem="timeline"
          className="btn small"
          params={{
            worker: first.found.worker,
            workers: others.map(({ found }) => escaped(found.worker)).join(","),
          }}
        >
          Open in Trace
        </ViewLink>
      </span>
    </section>
  );
}

interface AnswerProps {
  readonly answer: Distributed;
  readonly isOld: boolean;
  readonly children: ReactNode;
}

/** A hang comes first: what the recordings say of lateness is the detail then. */
function Answer({ answer: { headline, detail, logs }, isOld, children }: AnswerProps) {
  const { data: hang } = usePart("distributed/hang", useAsked(), logs ? {} : null);
  const isStuck = hang !== undefined && hang.rows.length > 0;
  return (
    <Hero
      headline={isStuck ? harmless(hang.sentence, 400) : headline}
      detail={isStuck ? headline : detail}
      isOld={isOld}
    >
      {children}
    </Hero>
  );
}

export default function DistributedView() {
  return (
    <ViewAnswer
      stem="distributed"
      query={useDistributedQuery()}
      waiting={<Skeleton heights={[48, 280, 240, 320]} />}
    >
      {(answer, isOld) => (
        <div className="stack">
          <div className="distributed-head">
            <Answer answer={answer} isOld={isOld}>
              {answer.missing === "" ? null : (
                <span className="chip">missing: {answer.missing}</span>
              )}
              {answer.waiting > 0 ? <Rereading answer={answer} /> : null}
            </Answer>
            <LookAt answer={answer} />
          </div>
          {answer.logs ? <Hang /> : null}
          {answer.waiting > 0 && answer.step_count === 0 && answer.count === 0 ? null : (
            <Compared answer={answer} isOld={isOld} />
          )}
          <Ranks answer={answer} isOld={isOld} />
          <Findings answer={answer} />
          <Notes answer={answer} />
        </div>
      )}
    </ViewAnswer>
  );
}

/** More ranks are looked at in the layout first. */
const MANY = 32;

/** What several ranks say together. */
function Compared({ answer, isOld }: { answer: Distributed; isOld: boolean }) {
  const shown = { answer, isOld };
  const hasMany = answer.ranks.length > MANY;
  return (
    <>
      <div className="distributed-grid">
        <div className="main-panels">
          <HeatMap {...shown} />
          <RankSteps {...shown} />
          {hasMany ? null : <WhatIf {...shown} />}
        </div>
        <div className="side-panels">
          {hasMany ? <Layout {...shown} /> : null}
          <Blame {...shown} />
          <Bandwidth {...shown} />
          {hasMany ? <WhatIf {...shown} /> : <Layout {...shown} />}
        </div>
      </div>
      <Collectives {...shown} />
      <Operations {...shown} />
      <Groups {...shown} />
      <Stages {...shown} />
      <Nodes {...shown} />
    </>
  );
}
