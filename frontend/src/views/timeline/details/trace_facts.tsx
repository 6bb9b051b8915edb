/** What stands beside the timeline while nothing is selected: the trace, what to mind, how to begin. */
import type { RankClock } from "../../../api/types.gen";
import { count, plural, time } from "../../../base/text/format";
import { harmless } from "../../../base/text/shown_name";
import { Prose } from "../../../components/text/prose";
import { useWords } from "../../../state/page_context";
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
      <dt title="Offset added to its wall clock, relative to the first worker here.">Clock</dt>
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
  const words = useWords();
  return (
    <dl className="tl-facts">
      <dt>Length</dt>
      <dd>
        <b className="strong">{time(manifest.end_ns - manifest.start_ns)}</b>
        {manifest.steps.length === 0 ? null : (
          <span className="dim"> {words(plural(manifest.steps.length, "step"))}</span>
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

/** Each text once, and whose it is where it is not true of all. */
function withOwners(
  sources: readonly Source[],
  textsOf: (source: Source) => readonly string[],
): readonly (readonly [string, string])[] {
  const owners = new Map<string, Set<string>>();
  for (const source of sources) {
    for (const text of textsOf(source)) {
      owners.set(text, (owners.get(text) ?? new Set()).add(source.worker));
    }
  }
  return [...owners].map(([text, workers]) => [
    text,
    workers.size === sources.length
      ? ""
      : `${[...workers].map((one) => harmless(one, 40)).join(", ")}: `,
  ]);
}

/** What the picture cannot show as recorded, and what was not recorded at all; each once. */
function Mind({ sources }: { sources: readonly Source[] }) {
  const warnings = withOwners(sources, ({ manifest }) => manifest.warnings);
  const lacking = withOwners(sources, ({ manifest }) => Object.values(manifest.missing));
  if (warnings.length === 0 && lacking.length === 0) {
    return null;
  }
  return (
    <section>
      <h2 className="tl-fact">Limits of this recording</h2>
      <ul className="tl-mind">
        {warnings.map(([text, whose]) => (
          <li key={text}>
            {whose}
            <Prose text={text} />
          </li>
        ))}
        {lacking.map(([text, whose]) => (
          <li key={text} className="ink2">
            {whose}
            <Prose text={text} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** `whose`: the worker that is counted, where there are several. */
function Kinds({ source, whose }: { source: Source; whose: string }) {
  return (
    <section>
      <h2 className="tl-fact clip">Kinds of slices{whose}</h2>
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

function Arrows({ source, whose }: { source: Source; whose: string }) {
  const kinds = source.manifest.flow_kinds.filter((kind) => kind.arrows > 0);
  return kinds.length === 0 ? null : (
    <section>
      <h2 className="tl-fact clip">Arrows{whose}</h2>
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
  const whose = sources.length > 1 ? ` of ${harmless(sources[0].worker, 80)}` : "";
  return (
    <>
      {sources.map((source) => (
        <section key={source.source}>
          <h2 className="tl-fact clip">
            {sources.length > 1 ? harmless(source.worker, 80) : "This trace"}
          </h2>
          <Facts source={source} />
        </section>
      ))}
      {alignmentNote === "" ? null : <section className="ink2">{alignmentNote}</section>}
      <Mind sources={sources} />
      <Kinds source={sources[0]} whose={whose} />
      <Arrows source={sources[0]} whose={whose} />
      <section>
        <h2 className="tl-fact">To begin</h2>
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
