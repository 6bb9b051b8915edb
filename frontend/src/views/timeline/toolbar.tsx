import { lazy, type ReactNode, Suspense } from "react";
import type { FrameLayout } from "../../api/types.gen";
import { KIND } from "../../base/style/kind_hues";
import { count, plural } from "../../base/text/format";
import { IconButton } from "../../components/controls/icon_button";
import { Menu, MenuItem } from "../../components/overlays/menu";
import { Popover } from "../../components/overlays/popover";
import { Chevron } from "../../components/text/icons";
import { useCell } from "../../state/cell";
import { usePage } from "../../state/page_context";
import type { MouseMode } from "../../timeline/contract";
import { DownloadMenu } from "./export/download_menu";
import { MeasureIcon, PanIcon, PointerIcon, ZoomIcon } from "./icons";
import { SearchBox } from "./search/search_box";
import type { ArrowChoice } from "./state/address";
import { useTimelineContext } from "./state/context";
import { KindLegend } from "./tracks/legend";
import { WorkersMenu } from "./tracks/workers_menu";

/** A button that opens a choice of one among a few, each with a word of explanation. */

/** A value, its words, a hint, and the word on the button once it is chosen. */
type Choice<T extends string> = readonly [T, words: string, hint: string, chosen: string];

interface ChoiceMenuProps<T extends string> {
  readonly button: string;
  readonly title: string;
  readonly value: T;
  readonly options: readonly Choice<T>[];
  readonly onChange: (value: T) => void;
}

function ChoiceMenu<T extends string>(props: ChoiceMenuProps<T>) {
  const { button, title, value, options, onChange } = props;
  return (
    <Menu
      className="btn tl-choice"
      label={button}
      button={
        <>
          <span>{button}</span>
          <Chevron />
        </>
      }
    >
      {options.map(([key, words, hint]) => (
        <MenuItem
          key={key}
          words={words}
          hint={hint}
          isOn={key === value}
          run={() => onChange(key)}
        />
      ))}
      {title === "" ? null : <p className="empty hint tl-lines">{title}</p>}
    </Menu>
  );
}

const wordOf = <T extends string>(choices: readonly Choice<T>[], value: T) =>
  choices.find(([key]) => key === value)?.[3];

/** The line of tools above the timeline. */

const TracksMenu = lazy(() => import("./tracks/tracks_menu"));

const MODES: readonly (readonly [MouseMode, string, () => ReactNode])[] = [
  ["select", "Select: press for a slice, drag for an area (1)", PointerIcon],
  ["pan", "Pan: drag the view (2)", PanIcon],
  ["zoom", "Zoom: drag up and down (3)", ZoomIcon],
  ["measure", "Measure: drag a distance (4)", MeasureIcon],
];

function ModeButtons() {
  const { link, change } = useTimelineContext();
  return (
    <div className="tl-modes" role="radiogroup" aria-label="What the pointer does">
      {MODES.map(([mode, words, Icon]) => (
        <label key={mode} title={words}>
          <input
            type="radio"
            name="timeline-mode"
            aria-label={words}
            checked={link.mode === mode}
            onChange={() => change({ mode })}
          />
          <Icon />
        </label>
      ))}
    </div>
  );
}

const ARROWS: readonly Choice<ArrowChoice>[] = [
  ["selected", "Of the selection", "one step each way", "selected"],
  ["chain", "Of the selection, all the way", "as far as they lead", "chain"],
  ["launches", "All launches in view", "call → kernel, bundled", "launches"],
  ["backward", "All gradients in view", "forward → backward, bundled", "backward"],
  ["dependencies", "All waits inside graphs in view", "node → what waits for it, bundled", "waits"],
  ["view", "All in view", "bundled where they are close", "all"],
  ["none", "None", "", "none"],
];

function ArrowsMenu() {
  const { link, change, sources, moving } = useTimelineContext();
  const leftOut = useCell(moving.arrowsLeftOut);
  const kinds = sources[0].manifest.flow_kinds.filter((kind) => kind.arrows > 0);
  const several = "Collectives of these workers are joined, whatever is chosen but none.";
  const lines = [
    ...kinds.map((kind) => `${plural(kind.arrows, "arrow")} ${kind.label}`),
    ...(sources.length > 1 ? [several] : []),
  ];
  const hint = lines.length === 0 ? "This recording has no arrows." : lines.join("\n");
  const cut = `${plural(leftOut, "arrow")} here ${leftOut === 1 ? "is" : "are"} not drawn: zoom in to see them.`;
  return (
    <ChoiceMenu
      button={`Arrows: ${wordOf(ARROWS, link.arrows)}${leftOut > 0 ? ", in part" : ""}`}
      title={leftOut > 0 ? `${cut}\n${hint}` : hint}
      value={link.arrows}
      options={ARROWS}
      onChange={(arrows) => change({ arrows })}
    />
  );
}

const FRAMES: readonly Choice<FrameLayout>[] = [
  ["user", "Your code", "without torch, Python itself and installed packages", "your code"],
  ["split", "All", "in tracks of their own, aligned with the ops", "all"],
  ["filtered", "All but plumbing", "without _call_impl, contextlib and the like", "no plumbing"],
  ["merged", "Merged", "all, as recorded, in one stack with the ops", "merged"],
];

function PythonMenu() {
  const { link, change, sources } = useTimelineContext();
  const { manifest } = sources[0];
  const hasFrames = manifest.kinds.some(
    ({ kind, slices }) => (kind === KIND.python || kind === KIND.module) && slices > 0,
  );
  if (!hasFrames || manifest.layouts.length < 2) {
    return null;
  }
  const hidden = sources.reduce((sum, source) => sum + source.manifest.hidden, 0);
  // Where no frame is the user's own, all of them are shown.
  const isAll = link.frames === "user" && hidden === 0;
  // The lanes of a subtree in focus are those of one layout.
  const choose = (frames: FrameLayout) =>
    change({ frames, arrangement: { ...link.arrangement, focus: new Map() } });
  return (
    <>
      <ChoiceMenu
        button={`Python: ${isAll ? "all" : wordOf(FRAMES, link.frames)}`}
        title={
          isAll
            ? "By their paths, no Python frame is code of your own: all are shown"
            : hidden > 0
              ? `${plural(hidden, "Python frame")} of libraries hidden`
              : ""
        }
        value={link.frames}
        options={FRAMES.filter(([frames]) => manifest.layouts.includes(frames))}
        onChange={choose}
      />
      {hidden > 0 ? (
        <button
          type="button"
          className="btn quiet small tl-hidden"
          title="Show all Python frames, those of libraries too"
          onClick={() => choose("split")}
        >
          {count(hidden)} hidden
        </button>
      ) : null}
    </>
  );
}

/** Streams of replayed graphs, by what their nodes do or one by one: a press is all it takes. */
function StreamsButton() {
  const { sources, actions } = useTimelineContext();
  const streams = Math.max(...sources.map(({ manifest }) => manifest.graph_streams));
  const isFolded = sources.some(({ manifest }) => manifest.is_folded);
  // A graph on one stream can be read as it is; its menu has the choice all the same.
  return streams < 2 ? null : (
    <button
      type="button"
      className="btn"
      title={
        isFolded
          ? `Replayed graphs ran on ${plural(streams, "stream")} of a device. They are folded by what their nodes do: show each stream (U)`
          : `Replayed graphs ran on ${plural(streams, "stream")} of a device. Fold them into compute, collectives, copies and memsets (U)`
      }
      onClick={() => actions.foldStreams(!isFolded)}
    >
      <span>Graphs: {isFolded ? "folded" : plural(streams, "stream")}</span>
    </button>
  );
}

export function Toolbar() {
  const { model } = useTimelineContext();
  const { openHelp } = usePage();
  return (
    <div className="tl-bar" role="toolbar" aria-label="Timeline">
      <SearchBox />
      <KindLegend />
      <span className="grow" />
      <ModeButtons />
      <ArrowsMenu />
      <PythonMenu />
      <StreamsButton />
      <WorkersMenu />
      <Popover
        className="btn"
        kind="dialog"
        label={`Tracks, ${model.shown} of ${model.total} shown`}
        button={
          <>
            Tracks{" "}
            <span className="dim">
              {model.shown === model.total ? model.total : `${model.shown} of ${model.total}`}
            </span>
          </>
        }
      >
        {() => (
          <Suspense fallback={<p className="empty">Opening…</p>}>
            <TracksMenu />
          </Suspense>
        )}
      </Popover>
      <DownloadMenu />
      <IconButton label="Keys" keys="?" onClick={openHelp}>
        ?
      </IconButton>
    </div>
  );
}
