/** The Trace view with a timeline to show: tools, heads, tracks, details and the panel below. */
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { count, time } from "../../base/format";
import { harmless } from "../../base/shown_name";
import { recall, remember } from "../../base/storage";
import { CloseIcon } from "../../components/icons";
import { useCell } from "../../state/cell";
import { Details } from "./details";
import { Gutter } from "./gutter";
import { Minimap, MinimapTitle } from "./minimap";
import type { Awaited } from "./recordings";
import { Scrollbar } from "./scrollbar";
import type { Aligned } from "./sources";
import { StageContext, useStage } from "./stage_context";
import { StepsBand } from "./steps_band";
import { RulerTitle, TimeRuler } from "./time_ruler";
import { Toolbar } from "./toolbar";
import { Tooltip } from "./tooltip";
import { useFollow } from "./use_follow";
import { useNarrowDetails } from "./use_narrow_details";
import { useOpenStage } from "./use_stage";
import { useViewKeys } from "./use_view_keys";

/** Its tables and the flame graph are fetched when the panel is first opened. */
const AreaPanel = lazy(() => import("./area_panel"));

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
function Notices({ trouble, forgive, awaited }: NoticesProps) {
  const { moving } = useStage();
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
          <button
            type="button"
            className="btn quiet icon small"
            aria-label="Dismiss"
            onClick={forgive}
          >
            <CloseIcon />
          </button>
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
  readonly forgive: () => void;
  readonly awaited: readonly Awaited[];
}

/** Tiles are on their way: a thin line, and only when it takes a while. */
function Pending() {
  const { moving } = useStage();
  const isPending = useCell(moving.pending, (pending) => pending > 0);
  return <div className={isPending ? "tl-pending on" : "tl-pending"} aria-hidden="true" />;
}

function Said() {
  const { moving } = useStage();
  return (
    <p className="unseen" role="status">
      {useCell(moving.said)}
    </p>
  );
}

function Side({ onClose }: { onClose: () => void }) {
  return (
    <aside className="tl-side" aria-label="Details">
      <button
        type="button"
        className="btn quiet icon small tl-side-close"
        aria-label="Close the details"
        title="Close the details"
        onClick={onClose}
      >
        »
      </button>
      <Details />
    </aside>
  );
}

function Keys() {
  useViewKeys();
  useFollow();
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
  const [isClosed, setClosed] = useState(() => recall(STORED) === "closed");
  const { stage, rested, trouble, forgive } = useOpenStage({ place, aligned, isNarrow });
  const { sources, whole } = stage;
  const [{ manifest, worker }] = sources;
  const close = (closed: boolean) => {
    setClosed(closed);
    remember(STORED, closed ? "closed" : "open");
  };
  return (
    <StageContext value={stage}>
      <h1 className="unseen">
        Trace of {harmless(worker, 100)}: {time(whole.end - whole.start)}, {count(manifest.events)}{" "}
        events
      </h1>
      <Keys />
      <Toolbar />
      <div className="tl-stage">
        <div className="tl-left">
          <div className="tl-heads">
            <MinimapTitle />
            <Minimap />
            <span className="tl-head-title">Steps</span>
            <StepsBand />
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
            <Notices trouble={trouble} forgive={forgive} awaited={awaited} />
            {!isNarrow && isClosed ? (
              <button type="button" className="btn small tl-side-open" onClick={() => close(false)}>
                « Details
              </button>
            ) : null}
          </div>
          {stage.link.tab === null ? null : (
            <Suspense fallback={<section className="tl-area tl-area-room" />}>
              <AreaPanel tab={stage.link.tab} rested={rested} />
            </Suspense>
          )}
        </div>
        {isNarrow || isClosed ? null : <Side onClose={() => close(true)} />}
      </div>
      <Said />
    </StageContext>
  );
}
