/** What stands beside the timeline while nothing is selected: the trace, what to mind, how to begin. */
import type { RankClock } from "../../../api/types.gen";
import { count, plural, time } from "../../../base/text/format";
import { harmless } from "../../../base/text/shown_name";
import { Prose } from "../../../components/text/prose";
import { useTimelineContext } from "../state/context";
import type { Source } from "../state/sources";
import { KindSwatch } from "../tracks/kinds";

/** `+700 µs ± 1.00 µs`: what was added to its wall clock, and how well that is known. */
function ClockFact({ clock }: { clock: RankClock | undefined }) {
  if (clock === undefined) {
    return null;
  }
  const { correction_ns: added, uncertainty_ns: uncertainty, problem } = clock;
  const shift = `${added < 0 ? "−" : "+"}${time(Math.abs(added))}`;
  return (
    <>
      <dt title="What is added to its wall clock, beside the first worker here.">Clock</dt>
      <dd>
        {problem !== "" ? problem : added === 0 ? "as recorded" : shift}{" "}
        {uncertainty === null ? null : <span className="dim">± {time(uncertainty)}</span>}
      </dd>
    </>
  );
}

function Facts({ source }: { source: Source }) {
  const { manifest } = source;
  const { clocks } = useTimelineContext();
  return (
    <dl className="tl-facts">
      <dt>Length</dt>
      <dd>
        <b className="strong">{time(manifest.end_ns - manifest.start_ns)}</b>
        {manifest.steps.length === 0 ? null : (
          <span className="dim"> {plural(manifest.steps.length, "step")}</span>
        )}
      </dd>
      <dt>Events</dt>
      <dd>
        {count(manifest.events)} <span className="dim">{plural(manifest.slices, "slice")}</span>
      </dd>
      <dt>Names</dt>
      <dd>{count(manifest.name_count)}</dd>
      {source.source === 0 ? null : <ClockFact clock={clocks.byWorker.get(source.worker)} />}
    </dl>
  );
}

/** What the picture cannot show as recorded, and what was not recorded at all; each once. */
function Mind({ sources }: { sources: readonly Source[] }) {
  const warnings = new Set(sources.flatMap(({ manifest }) => manifest.warnings));
  const lacking = new Set(sources.flatMap(({ manifest }) => Object.values(manifest.missing)));
  if (warnings.size === 0 && lacking.size === 0) {
    return null;
  }
  return (
    <section>
      <h3>To keep in mind</h3>
      <ul className="tl-mind">
        {[...warnings].map((text) => (
          <li key={text}>
            <Prose text={text} />
          </li>
        ))}
        {[...lacking].map((text) => (
          <li key={text} className="ink2">
            <Prose text={text} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Kinds({ source }: { source: Source }) {
  return (
    <section>
      <h3>Kinds of slices</h3>
      <ul className="tl-kinds">
        {source.manifest.kinds
          .filter((kind) => kind.slices > 0)
          .map((kind) => (
            <li key={kind.kind}>
              <KindSwatch kind={kind.kind} />
              <span className="grow">{kind.label}</span>
              <span className="dim">{count(kind.slices)}</span>
            </li>
          ))}
      </ul>
    </section>
  );
}

const HINTS = [
  [["W", "S"], "zoom at the pointer"],
  [["A", "D"], "move"],
  [["drag"], "choose an area"],
  [["/"], "search all names"],
  [["?"], "all keys"],
] as const;

function Arrows({ source }: { source: Source }) {
  const kinds = source.manifest.flow_kinds.filter((kind) => kind.arrows > 0);
  return kinds.length === 0 ? null : (
    <section>
      <h3>Arrows</h3>
      <ul className="tl-kinds">
        {kinds.map((kind) => (
          <li key={kind.kind}>
            <span className="grow">{kind.label}</span>
            <span className="dim">{count(kind.arrows)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

export function TraceFacts() {
  const { sources, alignmentNote } = useTimelineContext();
  return (
    <>
      {sources.map((source) => (
        <section key={source.source}>
          <h3 className="clip">
            {sources.length > 1 ? harmless(source.worker, 80) : "This trace"}
          </h3>
          <Facts source={source} />
        </section>
      ))}
      {alignmentNote === "" ? null : <section className="ink2">{alignmentNote}</section>}
      <Mind sources={sources} />
      <Kinds source={sources[0]} />
      <Arrows source={sources[0]} />
      <section>
        <h3>To begin</h3>
        <dl className="tl-hints">
          {HINTS.map(([keys, words]) => (
            <div key={words}>
              <dt>
                {keys.map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </dt>
              <dd>{words}</dd>
            </div>
          ))}
        </dl>
      </section>
    </>
  );
}
