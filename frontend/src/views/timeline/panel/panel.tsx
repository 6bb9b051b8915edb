import { type KeyboardEvent, type PointerEvent, useRef, useState } from "react";
import type { AreaAnswer, AreaCounter } from "../../../api/types.gen";
import { recall, remember } from "../../../base/storage";
import { DASH, inUnit, plural, time } from "../../../base/text/format";
import { harmless } from "../../../base/text/shown_name";
import { IconButton } from "../../../components/controls/icon_button";
import { Select } from "../../../components/controls/select";
import { Heading } from "../../../components/data_table/heading";
import { Boundary } from "../../../components/states/boundary";
import { ProblemNote } from "../../../components/states/problem_note";
import { CloseIcon } from "../../../components/text/icons";
import { usePart } from "../../../state/parts";
import { useLasting } from "../../../state/timing";
import { Details } from "../details/details";
import { formatNotes, LINK_MAX, type Note, type PanelTab } from "../state/address";
import { type Rested, useTimelineContext } from "../state/context";
import { around, type Scope, scopeOf, scopeQuery, withMargin } from "../state/range";
import { AreaDevices } from "./devices";
import { AreaFlame } from "./flame";
import { AreaSlices } from "./slices";
import { AreaSummary } from "./summary";

/** Each series of values within the area. */

const valueText = (value: number | null, unit: string): string =>
  value === null ? DASH : inUnit(value, unit);

function changeText({ delta, unit }: AreaCounter): string {
  const text = valueText(delta, unit);
  return delta !== null && delta > 0 ? `+${text}` : text;
}

export function AreaCounters({ answer }: { answer: AreaAnswer }) {
  if (answer.counters.length === 0) {
    return <p className="tl-none ink2">This recording has no counters.</p>;
  }
  return (
    <div className="tl-grid-scroll">
      <table className="tl-counters">
        <thead>
          <tr>
            <Heading help="The sampled or counted quantity.">Series</Heading>
            <Heading help="The least value in the area." className="num">
              Min
            </Heading>
            <Heading className="num" help="Weighted by time">
              Mean
            </Heading>
            <Heading help="The largest value in the area." className="num">
              Max
            </Heading>
            <Heading className="num" help="From the start of the area to its end">
              Change
            </Heading>
          </tr>
        </thead>
        <tbody>
          {answer.counters.map((counter) => (
            <tr key={counter.series}>
              <td className="clip">
                <bdi>{harmless(counter.label, 100)}</bdi>
              </td>
              <td className="num">{valueText(counter.low, counter.unit)}</td>
              <td className="num">{valueText(counter.mean, counter.unit)}</td>
              <td className="num">{valueText(counter.high, counter.unit)}</td>
              <td className="num">{changeText(counter)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The notes on the time axis: go there, write, remove. */

function NoteLine({ note, place }: { note: Note; place: number }) {
  const { link, change, actions, moving } = useTimelineContext();
  const [text, setText] = useState(note.text);
  const replaced = (next: Note | null) =>
    link.notes.flatMap((other, at) => (at === place ? (next === null ? [] : [next]) : [other]));
  const go = () => {
    const { camera, width } = moving.frame.get();
    const range = { start: note.at, end: note.end ?? note.at };
    actions.show(note.end === null ? around(range, width * camera.nsPerPx) : withMargin(range, 1));
  };
  return (
    <li className="tl-note-line">
      <button type="button" className="link nowrap" onClick={go}>
        {time(note.at)}
        {note.end === null ? "" : `, ${time(note.end - note.at)} long`}
      </button>
      <input
        className="input small grow"
        aria-label="Note"
        placeholder="What is here?"
        maxLength={200}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onBlur={() => {
          if (text !== note.text) {
            change({ notes: replaced({ ...note, text }) });
          }
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter") {
            event.currentTarget.blur();
          }
        }}
      />
      <button
        type="button"
        className="btn quiet small"
        onClick={() => change({ notes: replaced(null) })}
      >
        Remove
      </button>
    </li>
  );
}

export function NotesTab() {
  const { link } = useTimelineContext();
  if (link.notes.length === 0) {
    return (
      <p className="tl-none ink2">
        No notes yet. Select a slice or an area and press <kbd>Shift M</kbd>.
      </p>
    );
  }
  const isLong = formatNotes(link.notes).length > LINK_MAX;
  return (
    <div className="tl-grid-scroll">
      <ul className="tl-notes">
        {link.notes.map((note, place) => (
          <NoteLine key={`${note.at} ${note.end} ${note.text}`} note={note} place={place} />
        ))}
      </ul>
      <p className="tl-note hint">
        {isLong
          ? "These notes make the link longer than some programs take: shorten or remove some before you send it."
          : "Notes travel in the link: copy it with L."}
      </p>
    </div>
  );
}

/** The panel below the tracks: what lies in the chosen area, or in view. */

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
  const { actions } = useTimelineContext();
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
  const timeline = useTimelineContext();
  const { link, actions, sources, isNarrow } = timeline;
  const [height, setHeight] = useHeight();
  const [chosen, setChosen] = useState(-1);
  const scope = scopeOf(timeline, rested, chosen);
  const tabs = tabsOf(isNarrow, link.notes.length > 0 || wanted === "notes");
  const tab = tabs.some(([key]) => key === wanted) ? wanted : "summary";
  return (
    <section className="tl-area" style={{ height }} aria-label="Area">
      <Edge height={height} onHeight={setHeight} />
      <header className="tl-area-head">
        {scope === null ? null : <ScopeLine scope={scope} />}
        {sources.length > 1 && scope !== null ? (
          <Select
            label="Worker"
            options={sources.map(({ source, worker }) => [`${source}`, harmless(worker, 60)])}
            value={`${scope.source.source}`}
            onChange={(source) => setChosen(Number(source))}
          />
        ) : null}
        <span className="grow" />
        <TabList tabs={tabs} current={tab} />
        <IconButton
          className="small"
          label="Close the panel"
          keys="Q"
          onClick={() => actions.openTab(null)}
        >
          <CloseIcon />
        </IconButton>
      </header>
      <div
        className="fill tl-area-body"
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

function ScopeLine({ scope }: { scope: Scope }) {
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
  const { link } = useTimelineContext();
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
    return <ProblemNote problem={problem} again={again} />;
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
  return <div className={isOld && isSlow ? "fill stale" : "fill"}>{body}</div>;
}
