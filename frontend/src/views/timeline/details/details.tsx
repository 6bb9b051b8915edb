/** Everything about the selected slice; without one, about the trace. */

import type { SliceDetails, SliceLink, SliceRef } from "../../../api/types.gen";
import { KIND, kindWord } from "../../../base/style/kind_hues";
import { count, DASH, exactTime, plural, time, times } from "../../../base/text/format";
import { harmless } from "../../../base/text/shown_name";
import { CopyButton } from "../../../components/controls/copy_button";
import { ProblemNote } from "../../../components/states/problem_note";
import { CodeName } from "../../../components/text/code_name";
import { useLasting } from "../../../state/timing";
import { stepTitle, wallClock, wallText } from "../ruler/ruler";
import { type Selection, useTimelineContext } from "../state/context";
import type { Source } from "../state/sources";
import { KindName, KindSwatch } from "../tracks/kinds";
import { Arguments, Inputs, LaunchBar, Origin, Stack } from "./arguments";
import { TraceFacts } from "./trace_facts";

const CRUMBS = 4;

/** Where it belongs: the modules around it, else whatever is around it; the nearest few. */
function Ancestors({ ancestors, source }: { ancestors: readonly SliceRef[]; source: Source }) {
  const { actions } = useTimelineContext();
  const modules = ancestors.filter((slice) => slice.kind === KIND.module);
  const telling = modules.length > 0 ? modules : ancestors;
  const shown = telling.slice(-CRUMBS);
  if (shown.length === 0) {
    return null;
  }
  return (
    <nav className="crumbs tl-crumbs" aria-label="Around it">
      {telling.length > shown.length ? <span className="dim">…</span> : null}
      {shown.map((slice) => (
        <button
          key={slice.slice}
          type="button"
          className="link clip"
          title={harmless(slice.name, 400)}
          onClick={() => actions.goTo(source, slice)}
        >
          {shortName(slice.name)}
        </button>
      ))}
    </nav>
  );
}

/** The part of a name that tells it from its neighbours. */
function shortName(name: string): string {
  const text = harmless(name, 80).replace(/^nn\.Module: /, "");
  return /\(\d+\): (.+)$/.exec(text)?.[1] ?? text;
}

function peersText({ peers, median_ns, rank, slice }: SliceDetails): string {
  if (peers <= 1 || median_ns === null) {
    return "the only one of its name";
  }
  const place = rank === null ? "" : rank === 1 ? ", the longest" : `, ${ordinal(rank)} longest`;
  const ratio = median_ns > 0 ? `${times(slice.dur / median_ns)} the median of ` : "of ";
  return `${ratio}${plural(peers, "call")}${place}`;
}

/** `2nd`, `13th`, `1,021st`. */
export function ordinal(value: number): string {
  const [ones, tens] = [value % 10, value % 100];
  const ending = tens > 10 && tens < 14 ? "th" : (["th", "st", "nd", "rd"][ones] ?? "th");
  return `${count(value)}${ending}`;
}

/** "step 16" of "ProfilerStep#16". */
const stepWord = (step: string) => stepTitle({ name: step });

function startText({ step, step_offset_ns, slice }: SliceDetails): string {
  return step_offset_ns === null
    ? `${time(slice.ts)} in the trace`
    : `${time(step_offset_ns)} in ${stepWord(step)}`;
}

function Facts({ details }: { details: SliceDetails }) {
  const { actions } = useTimelineContext();
  const { slice, self_ns, track_label, depth, flags } = details;
  const epoch = wallClock(details.wall_ns);
  return (
    <dl className="tl-facts">
      <dt>Start</dt>
      <dd title={exactTime(slice.ts)}>{startText(details)}</dd>
      <dt>Duration</dt>
      <dd title={exactTime(slice.dur)}>
        <b className="strong">{time(slice.dur)}</b>{" "}
        <span className="dim">self {time(self_ns)}</span>
      </dd>
      <dt>Against peers</dt>
      <dd>
        {details.peers > 1 ? (
          <button
            type="button"
            className="link"
            title="Find all slices of this name (N, Shift N)"
            onClick={() => actions.find(slice.name, "exact")}
          >
            {peersText(details)}
          </button>
        ) : (
          peersText(details)
        )}
      </dd>
      <dt>Track</dt>
      <dd>
        <bdi>{harmless(track_label, 100)}</bdi>, depth {depth}
      </dd>
      {details.stream === "" ? null : (
        <>
          <dt>Stream</dt>
          <dd>
            <bdi>{harmless(details.stream, 100)}</bdi>
          </dd>
        </>
      )}
      <dt>Wall clock</dt>
      <dd>{epoch === null ? DASH : wallText(epoch)}</dd>
      {flags.length === 0 ? null : (
        <>
          <dt>Caution</dt>
          <dd className="tl-warn">{flags.join("; ")}</dd>
        </>
      )}
    </dl>
  );
}

/** The other way round, seen from the selection: where it leads, or where it comes from. */
const LEADS = new Set<SliceLink["relation"]>(["launches", "kernels", "backward"]);

/** How far apart in time, seen from the selection. */
function delayText(delay: number | null, isAhead: boolean): string {
  if (delay === null) {
    return "";
  }
  return delay < 0 ? ", while it runs" : `, ${time(delay)} ${isAhead ? "later" : "earlier"}`;
}

function LinkLine({ link, source }: { link: SliceLink; source: Source }) {
  const { actions } = useTimelineContext();
  const { to, label, delay_ns, relation } = link;
  const words = relation === "parent" ? "around it" : label === "" ? relation : label;
  return (
    <li className="tl-hop">
      <span className="dim" aria-hidden="true">
        {LEADS.has(relation) ? "↦" : "↤"}
      </span>
      <button type="button" className="link clip" onClick={() => actions.goTo(source, to)}>
        <KindName kind={to.kind} name={to.name} />
      </button>
      <span className="nowrap">{time(to.dur)}</span>
      <span className="dim tl-hop-words">
        {words}
        {relation === "parent" ? "" : delayText(delay_ns, LEADS.has(relation))}
      </span>
    </li>
  );
}

function Links({ links, source }: { links: readonly SliceLink[]; source: Source }) {
  if (links.length === 0) {
    return null;
  }
  return (
    <section>
      <h3>Linked</h3>
      <ul>
        {links.map((link) => (
          <LinkLine key={`${link.relation} ${link.to.slice}`} link={link} source={source} />
        ))}
      </ul>
    </section>
  );
}

function Known({ details, source }: { details: SliceDetails; source: Source }) {
  const { sources, actions } = useTimelineContext();
  const { slice, kind_label, step, ancestors, links } = details;
  return (
    <>
      <section>
        <div className="row tl-chips">
          <span className="chip">
            <KindSwatch kind={slice.kind} />
            {kind_label || kindWord(slice.kind)}
          </span>
          {step === "" ? null : <span className="chip">{harmless(stepWord(step), 24)}</span>}
          {sources.length > 1 ? (
            <span className="chip clip">{harmless(source.worker, 40)}</span>
          ) : null}
          <span className="grow" />
          <kbd title="Esc clears the selection">Esc</kbd>
        </div>
        <h2 className="tl-title">
          <CodeName name={slice.name} />
        </h2>
        <Ancestors ancestors={ancestors} source={source} />
        <Facts details={details} />
        <div className="row wrap tl-chips">
          <button
            type="button"
            className="btn small"
            title="Zoom to it (Enter)"
            onClick={() => actions.fitSelection()}
          >
            Zoom to it
          </button>
          <button
            type="button"
            className="btn small"
            title="Make it an area (R)"
            onClick={() => actions.areaOfSelection()}
          >
            As area
          </button>
          <CopyButton className="small" title="Copy the name (Ctrl C)" text={() => slice.name}>
            Copy name
          </CopyButton>
        </div>
      </section>
      <Links links={links} source={source} />
      {details.launch === null ? null : <LaunchBar launch={details.launch} />}
      {details.origin === null ? null : <Origin origin={details.origin} />}
      <Inputs inputs={details.inputs} />
      <Stack details={details} />
      <Arguments args={details.args} missing={details.args_missing} />
    </>
  );
}

function SelectionDetails({ selection }: { selection: Selection }) {
  const isSlow = useLasting(selection.details === undefined);
  if (selection.problem !== null) {
    return (
      <section>
        <ProblemNote problem={selection.problem} again={selection.again} />
      </section>
    );
  }
  return selection.details === undefined ? (
    <section className="dim">{isSlow ? "Reading the slice…" : ""}</section>
  ) : (
    <Known details={selection.details} source={selection.source} />
  );
}

/** The selected slice in one line, for those who hear it. */
function spokenSlice(details: SliceDetails | undefined): string {
  if (details === undefined) {
    return "";
  }
  const { slice, kind_label, track_label } = details;
  const kind = kind_label || kindWord(slice.kind);
  return `Selected: ${harmless(slice.name, 200)}, ${kind}, ${time(slice.dur)}, at ${startText(details)}, on ${harmless(track_label, 100)}`;
}

export function Details() {
  const { selection } = useTimelineContext();
  return (
    <>
      <div className="tl-details">
        {selection === null ? <TraceFacts /> : <SelectionDetails selection={selection} />}
      </div>
      <p className="unseen" role="status">
        {spokenSlice(selection?.details)}
      </p>
    </>
  );
}
