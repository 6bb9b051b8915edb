import { lazy, Suspense, useEffect, useMemo, useRef, useState } from "react";
import type { ReadProgress } from "../../api/types.gen";
import { recall, remember } from "../../base/storage";
import { adoptStyles } from "../../base/style/styles";
import { count, time } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { IconButton } from "../../components/controls/icon_button";
import { ProblemNote } from "../../components/states/problem_note";
import { progressWords, ReadBar } from "../../components/states/read_progress";
import { CloseIcon } from "../../components/text/icons";
import { useCell } from "../../state/cell";
import { useWords } from "../../state/page_context";
import { useLasting } from "../../state/timing";
import { warmUp } from "../../timeline/tiles/worker_loader";
import { Details } from "./details/details";
import { Tooltip } from "./details/tooltip";
import panelsCss from "./panels.css?inline";
import { CompileBand } from "./ruler/compile_band";
import { HeadBand } from "./ruler/head_band";
import { Minimap, MinimapTitle } from "./ruler/minimap";
import { PathBand, PathToggle } from "./ruler/path_band";
import { StepsBand } from "./ruler/steps_band";
import { RulerTitle, TimeRuler } from "./ruler/time_ruler";
import { useLink } from "./state/address";
import { useFollow, useNarrowDetails, useSelectionInSight } from "./state/address_sync";
import { CurrentTimeline, useTimelineContext } from "./state/context";
import { useViewKeys } from "./state/keys";
import {
  type Aligned,
  type Awaited,
  align,
  type Recording,
  useClocks,
  useList,
  useManifest,
  useOthers,
} from "./state/sources";
import { useTimeline } from "./state/use_timeline";
import timelineCss from "./timeline.css?inline";
import { Toolbar } from "./toolbar";
import { Gutter } from "./tracks/labels";
import { Scrollbar } from "./tracks/scrollbar";

/** The Trace view with a timeline to show: tools, heads, tracks, details and the panel below. */

/** Its tables and the flame graph are fetched when the panel is first opened. */
const AreaPanel = lazy(() => import("./panel/panel"));

const NARROW = "(max-width: 1100px)";
const STORED = "timeline.details";
const NOTICE_MS = 6000;

function useNarrow(): boolean {
  const [query] = useState(() => window.matchMedia(NARROW));
  const [isNarrow, setNarrow] = useState(query.matches);
  useEffect(() => {
    const follow = () => setNarrow(query.matches);
    query.addEventListener("change", follow);
    return () => query.removeEventListener("change", follow);
  }, [query]);
  return isNarrow;
}

/** A word that goes away again, and what is on its way. */
function Notices({ trouble, dismissError, awaited }: NoticesProps) {
  const { moving } = useTimelineContext();
  const notice = useCell(moving.notice);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each notice has its own time
  useEffect(() => {
    const timer = setTimeout(() => moving.notice.set(""), NOTICE_MS);
    return () => clearTimeout(timer);
  }, [notice, moving]);
  return (
    <div className="tl-notices">
      {trouble === "" ? null : (
        <p className="tl-notice bad" role="alert">
          <span>{trouble}</span>
          <IconButton className="small" label="Dismiss" onClick={dismissError}>
            <CloseIcon />
          </IconButton>
        </p>
      )}
      {awaited.map(({ worker, words, isLost }) => (
        <p key={worker} className={isLost ? "tl-notice bad" : "tl-notice"}>
          <bdi>{harmless(worker, 80)}</bdi> {words}
        </p>
      ))}
      {notice === "" ? null : <p className="tl-notice">{notice}</p>}
    </div>
  );
}

interface NoticesProps {
  readonly trouble: string;
  readonly dismissError: () => void;
  readonly awaited: readonly Awaited[];
}

/** Tiles are on their way: a thin line, and only when it takes a while. */
function Pending() {
  const { moving } = useTimelineContext();
  const isPending = useCell(moving.pending, (pending) => pending > 0);
  return <div className={isPending ? "tl-pending on" : "tl-pending"} aria-hidden="true" />;
}

function Said() {
  const { moving } = useTimelineContext();
  return (
    <p className="unseen" role="status">
      {useCell(moving.said)}
    </p>
  );
}

function Side({ onClose }: { onClose: () => void }) {
  return (
    <aside className="tl-side" aria-label="Details">
      <IconButton className="small tl-side-close" label="Close the details" onClick={onClose}>
        »
      </IconButton>
      <Details />
    </aside>
  );
}

function Keys() {
  useViewKeys();
  useFollow();
  useSelectionInSight();
  useNarrowDetails();
  return null;
}

interface OpenedProps {
  readonly aligned: Aligned;
  readonly awaited: readonly Awaited[];
}

export function Opened({ aligned, awaited }: OpenedProps) {
  const place = useRef<HTMLDivElement>(null);
  const isNarrow = useNarrow();
  const words = useWords();
  const [isClosed, setClosed] = useState(() => recall(STORED) === "closed");
  const { timeline, rested, trouble, dismissError } = useTimeline({ place, aligned, isNarrow });
  const { sources, whole } = timeline;
  const [{ manifest, worker }] = sources;
  const close = (closed: boolean) => {
    setClosed(closed);
    remember(STORED, closed ? "closed" : "open");
  };
  return (
    <CurrentTimeline value={timeline}>
      <h1 className="unseen">
        Trace of {harmless(worker, 100)}: {time(whole.end - whole.start)}, {count(manifest.events)}{" "}
        events
      </h1>
      <Keys />
      <Toolbar />
      <div className="tl-timeline">
        <div className="fill tl-left">
          <div className="tl-heads">
            <MinimapTitle />
            <Minimap />
            <span className="tl-head-title">
              {words("Steps")} <PathToggle />
            </span>
            <StepsBand />
            <CompileBand />
            <HeadBand />
            <PathBand />
            <RulerTitle />
            <TimeRuler />
          </div>
          <div className="tl-tracks">
            <div
              ref={place}
              className="tl-canvas"
              role="application"
              aria-label="Timeline. W and S zoom, A and D move, a full stop selects the first slice in view, a question mark lists all keys."
              // biome-ignore lint/a11y/noNoninteractiveTabindex: it takes keys
              tabIndex={0}
            />
            <Gutter />
            <div className="tl-over">
              <Tooltip />
              <Scrollbar />
            </div>
            <Pending />
            <Notices trouble={trouble} dismissError={dismissError} awaited={awaited} />
            {!isNarrow && isClosed ? (
              <button type="button" className="btn small tl-side-open" onClick={() => close(false)}>
                « Details
              </button>
            ) : null}
          </div>
          {timeline.link.tab === null ? null : (
            <Suspense fallback={<section className="tl-area tl-area-room" />}>
              <AreaPanel tab={timeline.link.tab} rested={rested} />
            </Suspense>
          )}
        </div>
        {isNarrow || isClosed ? null : <Side onClose={() => close(true)} />}
      </div>
      <Said />
    </CurrentTimeline>
  );
}

/** Before the first tile: the shape of what comes, and how far the server is with it. */

const LANES = [
  [4, 62],
  [10, 40],
  [18, 30],
  [6, 70],
  [30, 22],
  [12, 55],
  [40, 34],
  [8, 48],
] as const;

function Bones() {
  return (
    <div className="tl-bones" aria-hidden="true">
      {LANES.map(([left, width]) => (
        <i
          key={`${left} ${width}`}
          className="skeleton"
          style={{ marginLeft: `${left}%`, width: `${width}%` }}
        />
      ))}
    </div>
  );
}

export function Skeleton() {
  return useLasting(true) ? (
    <section className="tl-waiting" aria-busy="true">
      <span className="unseen">Opening the timeline</span>
      <Bones />
    </section>
  ) : null;
}

/** The first open of a trace lays its slices out in lanes and levels; later ones find that done. */
export function Preparing({ progress }: { progress: ReadProgress }) {
  return (
    <section className="tl-waiting">
      <div className="tl-progress" aria-live="polite">
        <h1>Preparing the timeline</h1>
        <ReadBar progress={progress} label="Preparing the timeline" />
        <p className="ink2">{progressWords(progress)}</p>
        <p className="dim small">This is done once for each trace.</p>
      </div>
      <Bones />
    </section>
  );
}

/** What ran when, on every thread and stream? */

adoptStyles(timelineCss);
adoptStyles(panelsCss);

interface RecordedProps {
  readonly recording: Recording;
  /** Another layout, which is prepared while this one is shown. */
  readonly next: Awaited | null;
}

function Recorded({ recording, next }: RecordedProps) {
  const [link] = useLink();
  const { recordings, awaited } = useOthers(link.workers, recording.manifest.layout);
  const manifests = useList(recordings.map(({ manifest }) => manifest));
  const clocks = useClocks(recordings, link.alignment === "clock");
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new list each time, of the same manifests
  const aligned = useMemo(
    () => align(recording, recordings, link.alignment, clocks),
    [recording.manifest, manifests, link.alignment, clocks],
  );
  return <Opened aligned={aligned} awaited={next === null ? awaited : [next, ...awaited]} />;
}

export default function Timeline() {
  const [link] = useLink();
  useEffect(warmUp, []);
  const { recording, next, progress, problem, again } = useManifest(link.layout);
  if (recording !== null) {
    // Another file is another timeline: nothing of the one before it stays.
    return <Recorded key={recording.digest} recording={recording} next={next} />;
  }
  if (problem !== null) {
    return (
      <section className="tl-refused">
        <h1>The timeline cannot be shown</h1>
        <ProblemNote problem={problem} again={again} />
      </section>
    );
  }
  return progress === null ? <Skeleton /> : <Preparing progress={progress} />;
}
