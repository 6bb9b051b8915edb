/** The advice, ranked: title, ceiling of the gain, evidence, what to do, where to look. */
import { useState } from "react";
import type {
  Evidence,
  Explanation,
  Finding,
  Gain,
  Lacking,
  Overview,
  Reference,
  SeenEvent,
} from "../../api/types.gen";
import { plainTable } from "../../base/text/delimited";
import { bytes, count, plural, share, time } from "../../base/text/format";
import { firstSentence } from "../../base/text/sentences";
import { capital } from "../../base/text/shown_name";
import { CopyButton } from "../../components/controls/copy_button";
import { CopyTable } from "../../components/controls/copy_table";
import { ViewLink } from "../../components/controls/view_link";
import { Heading } from "../../components/data_table/heading";
import { Modal } from "../../components/overlays/modal";
import { Panel } from "../../components/states/panel";
import { Paragraph, Prose } from "../../components/text/prose";
import { Snippet, toLines } from "../../components/text/snippet";
import { useValues } from "../../state/host/environment";
import { useLeadsTo, usePage } from "../../state/page_context";

interface FindingsProps {
  /** What is divided: a recording without steps as a whole. */
  readonly noun: Overview["noun"];
  readonly findings: readonly Finding[];
  /** Why what the sentence on top says has no finding; null where it has one. */
  readonly unanswered: Explanation | null;
  readonly unchecked: readonly Lacking[];
  readonly ruleCount: number;
  readonly isOld: boolean;
}

const findingsTable = plainTable<Finding>([
  "id",
  "title",
  "text",
  "severity",
  "confidence",
  ["gain_ns_per_step", ({ gain }) => gain?.ns_per_step ?? null],
  ["gain_ratio", ({ gain }) => gain?.ratio ?? null],
  "scope",
  "frame",
]);

function GainBar({ gain }: { gain: Gain }) {
  const width = `${Math.min(1, Math.max(0, gain.ratio)) * 100}%`;
  return (
    <div className="gain" title={gain.method}>
      <span className="dim">up to</span> <b className="strong">{share(gain.ratio)}</b>{" "}
      <span className="dim">· {time(gain.ns_per_step)}</span>
      <div className="bar" aria-hidden="true">
        <i style={{ width }} />
      </div>
    </div>
  );
}

/** A door that is there: a view that this recording fills, or a document. */
function Door({ door }: { door: Reference }) {
  const { info } = usePage();
  const leadsTo = useLeadsTo(door.view);
  if (door.url !== "") {
    if (!/^https?:\/\//.test(door.url)) {
      return null;
    }
    // The frames of VS Code open no windows.
    return info.vscode ? (
      <CopyButton className="quiet small" title={door.url} text={() => door.url}>
        {door.text}: copy address
      </CopyButton>
    ) : (
      <a href={door.url} target="_blank" rel="noopener noreferrer">
        {door.text}
      </a>
    );
  }
  return leadsTo ? (
    <ViewLink stem={door.view} params={door.params}>
      {door.text}
    </ViewLink>
  ) : null;
}

const FORMATS: Readonly<Record<string, (value: number) => string>> = {
  ns: time,
  ratio: (value) => share(value),
  bytes,
  count,
};

function evidenceValue(value: number, unit: string): string {
  return FORMATS[unit]?.(value) ?? `${count(value)} ${unit}`;
}

function EvidenceTable({ evidence }: { evidence: readonly Evidence[] }) {
  if (evidence.length === 0) {
    return null;
  }
  const compares = evidence.some(({ threshold }) => threshold !== null);
  return (
    <table className="plain evidence">
      <thead>
        <tr>
          <Heading help="What was measured.">Figure</Heading>
          <Heading help="Its value in this recording." className="num">
            Here
          </Heading>
          {compares ? (
            <Heading help="Threshold of the rule." className="num">
              Compared with
            </Heading>
          ) : null}
        </tr>
      </thead>
      <tbody>
        {evidence.map(({ name, value, unit, threshold }) => (
          <tr key={name}>
            <td>
              <Prose text={name} />
            </td>
            <td className="num">{evidenceValue(value, unit)}</td>
            {compares ? (
              <td className="num dim">
                {threshold === null ? "" : evidenceValue(threshold, unit)}
              </td>
            ) : null}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The events behind a finding, each of which opens in the Trace view. */
function Events({ events, noun }: { events: readonly SeenEvent[]; noun: Overview["noun"] }) {
  const hasSteps = noun !== "recording";
  if (events.length === 0) {
    return null;
  }
  return (
    <table className="plain evidence">
      <thead>
        <tr>
          <Heading help="Each leads to its place in Trace.">Longest events</Heading>
          {hasSteps ? <Heading help="The step in which it lies.">Step</Heading> : null}
          <Heading help="From its start to its end." className="num">
            Duration
          </Heading>
        </tr>
      </thead>
      <tbody>
        {events.map((event) => (
          <tr key={`${event.slice} ${event.ts}`}>
            <td>
              <Door door={event.link} />
            </td>
            {hasSteps ? <td className="dim">{event.step}</td> : null}
            <td className="num">{time(event.dur_ns)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Ceilings must not be added: what findings above this one claim already. */
function Shared({ gain }: { gain: Gain }) {
  return gain.shared_ns_per_step * 100 < gain.ns_per_step ? null : (
    <p className="dim">
      {time(gain.shared_ns_per_step)} of the ceiling is time that findings above claim too: ceilings
      do not add up.
    </p>
  );
}

interface ItemProps {
  readonly finding: Finding;
  readonly noun: Overview["noun"];
}

/** Evidence in one sentence and what to do about it: the rest is behind the summary. */
function shortOf({ text, action, snippet }: Finding) {
  const [evidence, rest] = firstSentence(text);
  const [fix] = firstSentence(action);
  return { evidence, rest, fix: snippet === "" && rest !== "" ? fix : "" };
}

function Details({ finding, noun }: ItemProps) {
  const { gain, verify, scope, confidence, id, evidence, events, links } = finding;
  const isCalled = useValues()["overview.finding"] === id;
  const { rest, fix } = shortOf(finding);
  return (
    <details open={isCalled}>
      <summary aria-label={`More on: ${finding.title}`}>More</summary>
      <div className="stack small">
        {rest === fix ? null : <Paragraph text={rest} />}
        {links.length < 2 ? null : (
          <p className="row wrap finding-links">
            {links.slice(1).map((door) => (
              <Door key={door.text} door={door} />
            ))}
          </p>
        )}
        <EvidenceTable evidence={evidence} />
        <Events events={events} noun={noun} />
        {verify === "" ? null : (
          <p>
            <span className="label">How to check that it worked</span> <Prose text={verify} />
          </p>
        )}
        {gain === null ? null : (
          <p>
            <span className="label">How the ceiling is computed</span> <Prose text={gain.method} />
          </p>
        )}
        {gain === null ? null : <Shared gain={gain} />}
        <p className="dim">
          {[scope, `confidence ${share(confidence, 0)}`, `rule ${id}`].filter(Boolean).join(" · ")}
        </p>
      </div>
    </details>
  );
}

const intoView = (element: HTMLElement | null) => element?.scrollIntoView?.({ block: "center" });

function Item({ finding, noun, place }: ItemProps & { place: number }) {
  const { evidence, fix } = shortOf(finding);
  const isCalled = useValues()["overview.finding"] === finding.id;
  return (
    <li className="finding" ref={isCalled ? intoView : undefined}>
      <span className="finding-place" aria-hidden="true">
        {place}
      </span>
      <h3 className="finding-title">
        <Prose text={finding.title} />
      </h3>
      {finding.gain === null ? <span /> : <GainBar gain={finding.gain} />}
      <div className="finding-text">
        <Paragraph text={evidence} />
        <Paragraph text={fix} />
        {finding.snippet === "" ? null : <Snippet lines={toLines(finding.snippet)} />}
        <div className="row wrap finding-foot">
          <span className="chip">{finding.severity}</span>
          {finding.links.slice(0, 1).map((door) => (
            <Door key={door.text} door={door} />
          ))}
          <Details finding={finding} noun={noun} />
        </div>
      </div>
    </li>
  );
}

function UncheckedList({ needs, onClose }: { needs: readonly Lacking[]; onClose: () => void }) {
  return (
    <Modal title="Rules that could not be checked" width={620} onClose={onClose}>
      <table>
        <thead>
          <tr>
            <Heading help="Missing data and the option that records it.">What they need</Heading>
            <Heading help="Rules that need it.">Rules</Heading>
          </tr>
        </thead>
        <tbody>
          {needs.map((one) => (
            <tr key={one.needs}>
              <td className="wrapping top">
                <Prose text={capital(one.needs)} />
              </td>
              <td className="wrapping dim">
                <ul className="plain">
                  {one.rules.map((rule) => (
                    <li key={rule.id}>
                      {rule.id} <Prose text={rule.title} />
                    </li>
                  ))}
                </ul>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Modal>
  );
}

/** The sentence on top and the findings must agree: what has no finding is explained. */
function Unanswered({ explanation }: { explanation: Explanation }) {
  return (
    <p className="body ink2">
      <Prose text={explanation.text} />{" "}
      {explanation.links.map((door) => (
        <Door key={door.text} door={door} />
      ))}
    </p>
  );
}

export function Findings({
  noun,
  findings,
  unanswered,
  unchecked,
  ruleCount,
  isOld,
}: FindingsProps) {
  const [open, setOpen] = useState(false);
  const uncheckedCount = unchecked.reduce((sum, one) => sum + one.rules.length, 0);
  return (
    <Panel
      title="Findings"
      isOld={isOld}
      hasBody={false}
      controls={
        <>
          {uncheckedCount === 0 ? (
            <span className="hint">{plural(ruleCount, "rule")} checked</span>
          ) : (
            <button type="button" className="btn quiet small hint" onClick={() => setOpen(true)}>
              {plural(uncheckedCount, "rule")} unchecked
            </button>
          )}
          <CopyTable label="the findings" table={() => findingsTable(findings)} />
        </>
      }
    >
      {unanswered === null ? null : <Unanswered explanation={unanswered} />}
      {findings.length === 0 ? (
        <p className="body ink2">
          {ruleCount === uncheckedCount
            ? "No rule could be checked on this recording."
            : `${plural(ruleCount - uncheckedCount, "rule")} found nothing.`}
        </p>
      ) : (
        <ol>
          {findings.map((finding, place) => (
            <Item
              noun={noun}
              key={`${finding.id} ${finding.title}`}
              finding={finding}
              place={place + 1}
            />
          ))}
        </ol>
      )}
      {open ? <UncheckedList needs={unchecked} onClose={() => setOpen(false)} /> : null}
    </Panel>
  );
}
