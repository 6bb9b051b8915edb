/** The labels beside the rows, placed where the canvas says its rows are. */
import { type KeyboardEvent, memo, useMemo, useRef } from "react";
import { count, inUnit, plural, share } from "../../../base/text/format";
import { harmless } from "../../../base/text/shown_name";
import { Menu, MenuItem } from "../../../components/overlays/menu";
import { Chevron } from "../../../components/text/icons";
import { useCell } from "../../../state/cell";
import type { PlacedRow } from "../../../timeline/contract";
import { DotsIcon } from "../icons";
import type { ChosenMode } from "../state/arrangement";
import { useTimelineContext } from "../state/context";
import { isWork, type RowInfo } from "./rows";

const MODES: readonly (readonly [ChosenMode, string, string])[] = [
  ["full", "Labels", "lanes at full height, deep ones small"],
  ["deep", "All lanes", "every lane at full height"],
  ["compact", "Compact", "small lanes without labels"],
  ["heat", "Strip", "all lanes in one strip"],
];

interface RowMenuProps {
  readonly info: RowInfo;
  readonly isStop: boolean;
  readonly onFocus: () => void;
}

/** What can be done with one row: a small button in its label. */
function RowMenu({ info, isStop, onFocus }: RowMenuProps) {
  const { actions, engine } = useTimelineContext();
  const { track } = info;
  const mode: ChosenMode = info.chosen ?? info.mode;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only notes which row has the focus
    <span className="tl-row-menu" onFocus={onFocus}>
      <Menu
        className="btn quiet icon small"
        label={`Track ${info.label}`}
        button={<DotsIcon />}
        row={info.key}
        tabIndex={isStop ? 0 : -1}
      >
        <MenuItem
          words={info.isPinned ? "Unpin" : "Pin to the top"}
          hint="P"
          run={() => actions.pin(info)}
        />
        <MenuItem words="Hide" hint="H" run={() => actions.hide(info)} />
        <MenuItem words="Move up" run={() => actions.moveRow(info, -1)} />
        <MenuItem words="Move down" run={() => actions.moveRow(info, 1)} />
        {track === null ? null : (
          <>
            <hr />
            {MODES.map(([key, words, hint]) => (
              <MenuItem
                key={key}
                words={words}
                hint={hint}
                isOn={mode === key}
                run={() => actions.setRowMode(info, key)}
              />
            ))}
            <hr />
            {isWork(track) && info.source.manifest.graph_streams > 0 ? (
              <MenuItem
                words={
                  info.source.manifest.is_folded
                    ? "Show each stream of the graphs"
                    : "Fold the streams of the graphs"
                }
                hint="U"
                run={() => actions.foldStreams(!info.source.manifest.is_folded)}
              />
            ) : null}
            <MenuItem
              words="Show from its first to its last slice"
              run={() => {
                const { offset } = info.source;
                engine?.show(
                  track.first_ns + offset,
                  Math.max(track.last_ns, track.first_ns + 1) + offset,
                );
              }}
            />
          </>
        )}
      </Menu>
    </span>
  );
}

const TWO_LINES = 30;
/** Less of a row than this shows no button that could be pressed: the panel below lies over it. */
const LEAST = 12;

/** `1,755 to 1,980 MHz`, `2,619 MHz`: of what the recorder sampled, the lowest says as much. */
function rangeText(low: number, high: number, unit: string): string {
  const most = inUnit(high, unit);
  const least = low === high ? "" : `${inUnit(low, unit).replace(`\u00a0${unit}`, "")} to `;
  return least + most;
}

/** The second line: the thread, the peak, or that something is amiss. */
export function detailOf({ counter, track, detail }: RowInfo): string {
  if (counter !== null) {
    const { kind, low, high, unit } = counter;
    if (kind === "counter") {
      return rangeText(low, high, unit);
    }
    const word = kind === "memory" ? "peak" : "max";
    return `${word} ${unit === "ratio" ? share(high, 0) : inUnit(high, unit)}`;
  }
  const overlaps = track?.overlaps ?? 0;
  const hidden = track?.hidden ?? 0;
  return [
    // What is not drawn comes first: the end of a line may be cut.
    hidden === 0 ? "" : `${plural(hidden, "frame")} hidden`,
    detail,
    overlaps === 0 ? "" : `${count(overlaps)} overlap`,
  ]
    .filter(Boolean)
    .join(" · ");
}

function titleOf(info: RowInfo, whole: number): string {
  const { track, counter, label, detail } = info;
  if (counter !== null) {
    const { low, high, unit, samples, definition } = counter;
    return [
      label,
      `${inUnit(low, unit)} to ${inUnit(high, unit)}, ${plural(samples, "sample")}; drawn from ${low < 0 ? "the lowest" : "zero"} on`,
      definition,
    ].join("\n");
  }
  if (track === null) {
    return label;
  }
  const overlaps =
    track.overlaps === 0
      ? []
      : [`${count(track.overlaps)} slices overlap their neighbours: drawn in lanes of their own`];
  const hidden =
    track.hidden === 0
      ? []
      : [`${plural(track.hidden, "Python frame")} of libraries hidden: “Python” above shows all`];
  const facts = [
    [label, detail].filter(Boolean).join(", "),
    ...(track.note === "" ? [] : [track.note]),
    `${count(track.slices)} slices, busy ${share(track.busy_ns / whole)} of the trace`,
    ...hidden,
    ...overlaps,
  ];
  return facts.join("\n");
}

interface LabelProps {
  readonly info: RowInfo;
  readonly height: number;
  readonly hits: number | null;
  readonly isStop: boolean;
}

/** Of a worker and its process or device, the latter stays whole: its number tells it apart. */
function HeadingName({ label }: { label: string }) {
  const [first, ...others] = label.split(" · ");
  const rest = others.map((part) => part.replace(/^Process (?=-?\d+$)/, "pid "));
  return (
    <>
      <bdi className="clip">{first}</bdi>
      {rest.length === 0 ? null : <bdi className="tl-heading-end">· {rest.join(" · ")}</bdi>}
    </>
  );
}

const Label = memo(function Label({ info, height, hits, isStop }: LabelProps) {
  const { actions, whole, moving } = useTimelineContext();
  const label = harmless(info.label, 120);
  const enter = () => moving.row.set(info.key);
  if (info.type === "heading") {
    return (
      <button
        type="button"
        className="tl-heading"
        title={label}
        data-row={info.key}
        tabIndex={isStop ? 0 : -1}
        aria-expanded={!info.isCollapsed}
        onClick={() => actions.collapse(info, !info.isCollapsed)}
        onFocus={enter}
        onPointerEnter={enter}
      >
        <span className={info.isCollapsed ? "turned" : ""}>
          <Chevron />
        </span>
        <HeadingName label={label} />
      </button>
    );
  }
  const detail = detailOf(info);
  // Several streams in one row: said even where there is but a line for it.
  const isTelling = info.track?.kind === "graph" && /^\d/.test(detail);
  return (
    <div className="tl-label" onPointerEnter={enter} title={titleOf(info, whole.end - whole.start)}>
      <div className="tl-label-text">
        <bdi className="clip">
          {label}
          {height < TWO_LINES && isTelling ? (
            <span className="dim"> {harmless(detail, 120)}</span>
          ) : null}
        </bdi>
        {height >= TWO_LINES && detail !== "" ? (
          <bdi className="clip dim">{harmless(detail, 120)}</bdi>
        ) : null}
        {info.firstLane > 0 ? (
          <button type="button" className="link small-type" onClick={() => actions.unfocus(info)}>
            ← all {info.track?.lanes} lanes
          </button>
        ) : null}
      </div>
      {hits !== null && hits > 0 ? <span className="tl-hits">{count(hits)}</span> : null}
      <RowMenu info={info} isStop={isStop} onFocus={enter} />
      {info.deeper > 0 && height >= TWO_LINES ? <Deeper info={info} /> : null}
    </div>
  );
});

/** "+38 deeper": the rest of the lanes, small or not drawn until asked for. */
function Deeper({ info }: { info: RowInfo }) {
  const { actions } = useTimelineContext();
  return (
    <button
      type="button"
      className="tl-deeper"
      tabIndex={-1}
      title="Show all lanes at full height"
      onClick={() => actions.setRowMode(info, "deep")}
    >
      +{info.deeper} deeper
    </button>
  );
}

/**
 * The part of a row that can be seen: below the pinned rows, above the end of the timeline. A label is
 * no larger, so that what can be pressed of it is what is seen.
 */
function seenPart({ top, height }: PlacedRow, from: number, to: number) {
  const start = Math.min(Math.max(top, from), top + height);
  return { top: start, height: Math.max(0, Math.min(top + height, to) - start) };
}

interface Row {
  readonly placed: PlacedRow;
  readonly info: RowInfo;
}

export function Gutter() {
  const { moving, model, search, engine } = useTimelineContext();
  const place = useRef<HTMLDivElement>(null);
  const rows = useCell(moving.frame, (frame) => frame.rows);
  const end = useCell(moving.frame, (frame) => frame.height);
  const focused = useCell(moving.row);
  const pinnedKeys = useMemo(() => new Set(model.pinned.map((row) => row.key)), [model]);
  const shown = rows.flatMap((placed): Row[] => {
    const info = model.infos.get(placed.row.key);
    // Rows are placed a little beyond the end, so that scrolling finds them there.
    const isBeyond = placed.top + Math.min(LEAST, placed.height) > end;
    return info === undefined || isBeyond ? [] : [{ placed, info }];
  });
  const pinned = shown.filter(({ info }) => pinnedKeys.has(info.key));
  const scrolled = shown.filter(({ info }) => !pinnedKeys.has(info.key));
  const edge = Math.max(0, ...pinned.map(({ placed }) => placed.top + placed.height));
  const stop = shown.some(({ info }) => info.key === focused) ? focused : shown[0]?.info.key;

  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (by === 0 || event.shiftKey || event.ctrlKey) {
      return;
    }
    event.preventDefault();
    const order = [...model.pinned, ...model.rows].map((row) => row.key);
    const next = order[Math.min(Math.max(order.indexOf(focused) + by, 0), order.length - 1)];
    if (next !== undefined) {
      moving.row.set(next);
      engine?.reveal(next, 0);
      requestAnimationFrame(() => {
        const rows = place.current?.querySelectorAll<HTMLElement>("[data-row]") ?? [];
        [...rows].find((row) => row.dataset["row"] === next)?.focus();
      });
    }
  };
  const drawn = ({ placed, info }: Row, from: number) => {
    const seen = seenPart(placed, from, end);
    return (
      <li
        key={info.key}
        className={info.type === "heading" ? "tl-row heading" : "tl-row"}
        style={seen}
      >
        <Label
          info={info}
          height={seen.height}
          hits={
            search.isActive ? (search.tracks.get(info.source.source)?.[info.trackIndex] ?? 0) : null
          }
          isStop={info.key === stop}
        />
      </li>
    );
  };
  return (
    <div
      ref={place}
      className="tl-gutter"
      onWheel={(event) => engine?.scroll(event.deltaY)}
      onPointerLeave={() => moving.row.set("")}
    >
      <ul aria-label="Tracks" onKeyDown={onKeyDown}>
        {scrolled.map((row) => drawn(row, edge))}
      </ul>
      {pinned.length === 0 ? null : (
        <ul aria-label="Pinned tracks" className="pinned" onKeyDown={onKeyDown}>
          {pinned.map((row) => drawn(row, 0))}
        </ul>
      )}
    </div>
  );
}
