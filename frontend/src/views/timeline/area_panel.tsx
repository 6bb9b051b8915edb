/** The panel below the tracks: what lies in the chosen area, or in view. */
import { type KeyboardEvent, type PointerEvent, useRef, useState } from "react";
import { toProblem } from "../../api/problem";
import { plural, time } from "../../base/format";
import { harmless } from "../../base/shown_name";
import { recall, remember } from "../../base/storage";
import { Boundary } from "../../components/boundary";
import { CloseIcon } from "../../components/icons";
import { ProblemNote } from "../../components/problem_note";
import { usePart } from "../../state/parts";
import { useLasting } from "../../state/timing";
import { AreaCounters } from "./area_counters";
import { AreaDevices } from "./area_devices";
import { AreaFlame } from "./area_flame";
import { AreaSlices } from "./area_slices";
import { AreaSummary } from "./area_summary";
import { Details } from "./details";
import type { PanelTab } from "./link";
import { NotesTab } from "./notes_tab";
import { type Scope, scopeOf, scopeQuery } from "./scope";
import { useStage } from "./stage_context";
import type { Rested } from "./use_rested";

const HEIGHT = 196;
const LEAST = 96;
const STORED = "timeline.panel";

function useHeight(): readonly [number, (height: number) => void] {
  const [height, setHeight] = useState(() => {
    const kept = Number(recall(STORED));
    return kept >= LEAST ? kept : HEIGHT;
  });
  const limited = (wanted: number) => {
    const next = Math.round(Math.min(Math.max(wanted, LEAST), window.innerHeight * 0.7));
    setHeight(next);
    remember(STORED, String(next));
  };
  return [height, limited];
}

/** The upper edge of the panel, to be dragged or moved by arrows. */
function Edge({ height, onHeight }: { height: number; onHeight: (height: number) => void }) {
  const from = useRef<{ y: number; height: number } | null>(null);
  const onPointerDown = (event: PointerEvent<HTMLDivElement>) => {
    event.currentTarget.setPointerCapture(event.pointerId);
    from.current = { y: event.clientY, height };
  };
  const onPointerMove = (event: PointerEvent) => {
    if (from.current !== null) {
      onHeight(from.current.height + from.current.y - event.clientY);
    }
  };
  const onPointerUp = () => {
    from.current = null;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const by = event.key === "ArrowUp" ? 24 : event.key === "ArrowDown" ? -24 : 0;
    if (by !== 0) {
      event.preventDefault();
      onHeight(height + by);
    }
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a separator that is moved is no rule
    <div
      className="tl-edge"
      role="separator"
      aria-orientation="horizontal"
      aria-label="Height of the panel"
      aria-valuenow={height}
      aria-valuemin={LEAST}
      aria-valuemax={Math.round(window.innerHeight * 0.7)}
      tabIndex={0}
      onPointerDown={onPointerDown}
      onPointerMove={onPointerMove}
      onPointerUp={onPointerUp}
      onPointerCancel={onPointerUp}
      onKeyDown={onKeyDown}
    />
  );
}

type TabEntry = readonly [PanelTab, string];

const TABS: readonly TabEntry[] = [
  ["summary", "Summary"],
  ["flame", "Flame graph"],
  ["slices", "Slices"],
  ["gpu", "GPU busy and gaps"],
  ["counters", "Counters"],
];

function tabsOf(isNarrow: boolean, hasNotes: boolean): readonly TabEntry[] {
  return [
    ...(isNarrow ? ([["details", "Details"]] as const) : []),
    ...TABS,
    ...(hasNotes ? ([["notes", "Notes"]] as const) : []),
  ];
}

interface TabListProps {
  readonly tabs: readonly TabEntry[];
  readonly current: PanelTab;
}

function TabList({ tabs, current }: TabListProps) {
  const { actions } = useStage();
  const list = useRef<HTMLDivElement>(null);
  const onKeyDown = (event: KeyboardEvent) => {
    const at = tabs.findIndex(([tab]) => tab === current);
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const next = tabs[(at + by + tabs.length) % tabs.length];
    if (by !== 0 && next !== undefined) {
      event.preventDefault();
      actions.openTab(next[0]);
      const buttons = list.current?.querySelectorAll("button") ?? [];
      buttons[tabs.indexOf(next)]?.focus();
    }
  };
  return (
    <div
      ref={list}
      role="tablist"
      aria-label="Of the area"
      className="tl-tabs"
      tabIndex={-1}
      onKeyDown={onKeyDown}
    >
      {tabs.map(([tab, words]) => (
        <button
          key={tab}
          type="button"
          role="tab"
          id={`tl-tab-${tab}`}
          aria-controls="tl-tab-panel"
          aria-selected={tab === current}
          tabIndex={tab === current ? 0 : -1}
          onClick={() => actions.openTab(tab)}
        >
          {words}
        </button>
      ))}
    </div>
  );
}

interface AreaPanelProps {
  readonly tab: PanelTab;
  readonly rested: Rested | null;
}

export default function AreaPanel({ tab: wanted, rested }: AreaPanelProps) {
  const stage = useStage();
  const { link, actions, sources, isNarrow } = stage;
  const [height, setHeight] = useHeight();
  const [chosen, setChosen] = useState(-1);
  const scope = scopeOf(stage, rested, chosen);
  const tabs = tabsOf(isNarrow, link.notes.length > 0 || wanted === "notes");
  const tab = tabs.some(([key]) => key === wanted) ? wanted : "summary";
  return (
    <section className="tl-area" style={{ height }} aria-label="Area">
      <Edge height={height} onHeight={setHeight} />
      <header className="tl-area-head">
        {scope === null ? null : <Heading scope={scope} />}
        {sources.length > 1 && scope !== null ? (
          <select
            className="btn small"
            aria-label="Worker"
            value={scope.source.source}
            onChange={(event) => setChosen(Number(event.target.value))}
          >
            {sources.map(({ source, worker }) => (
              <option key={source} value={source}>
                {harmless(worker, 60)}
              </option>
            ))}
          </select>
        ) : null}
        <span className="grow" />
        <TabList tabs={tabs} current={tab} />
        <button
          type="button"
          className="btn quiet icon small"
          aria-label="Close the panel"
          title="Close the panel (Q)"
          onClick={() => actions.openTab(null)}
        >
          <CloseIcon />
        </button>
      </header>
      <div
        className="tl-area-body"
        role="tabpanel"
        id="tl-tab-panel"
        aria-labelledby={`tl-tab-${tab}`}
      >
        <Boundary key={tab}>
          <TabBody tab={tab} scope={scope} />
        </Boundary>
      </div>
    </section>
  );
}

function Heading({ scope }: { scope: Scope }) {
  const { start, end } = scope.range;
  const { data } = useAreaAnswer(scope);
  const facts = [
    scope.words,
    ...(data === undefined ? [] : [plural(data.slices, "slice")]),
    ...(data === undefined || data.clipped === 0
      ? []
      : [`${plural(data.clipped, "slice")} clipped at the edge`]),
  ];
  return (
    <h2 className="tl-area-title">
      {scope.isArea ? "Area" : "In view"} {time(end - start)}
      <span className="hint clip">{facts.join(" · ")}</span>
    </h2>
  );
}

/** The summary, asked once for the heading and all tabs that need it. */
export function useAreaAnswer(scope: Scope) {
  const { link } = useStage();
  const query = scope.isBare ? null : { ...scopeQuery(scope), layout: link.layout };
  return usePart("timeline/area", scope.source, query, true);
}

function TabBody({ tab, scope }: { tab: PanelTab; scope: Scope | null }) {
  if (tab === "notes") {
    return <NotesTab />;
  }
  if (tab === "details") {
    return <Details />;
  }
  if (scope === null) {
    return null;
  }
  switch (tab) {
    case "flame":
      return <AreaFlame scope={scope} />;
    case "slices":
      return <AreaSlices scope={scope} />;
    default:
      return <AreaAnswered tab={tab} scope={scope} />;
  }
}

function AreaAnswered({ tab, scope }: { tab: PanelTab; scope: Scope }) {
  const { data, isLoading, isOld, problem, again } = useAreaAnswer(scope);
  const isSlow = useLasting(isLoading);
  if (problem !== null) {
    return <ProblemNote problem={toProblem(problem)} again={again} />;
  }
  if (data === undefined) {
    return <p className="tl-none dim">{isSlow ? "Adding up…" : ""}</p>;
  }
  const body =
    tab === "gpu" ? (
      <AreaDevices answer={data} scope={scope} />
    ) : tab === "counters" ? (
      <AreaCounters answer={data} />
    ) : (
      <AreaSummary answer={data} scope={scope} />
    );
  return <div className={isOld && isSlow ? "tl-fill stale" : "tl-fill"}>{body}</div>;
}
