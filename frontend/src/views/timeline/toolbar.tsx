/** The line of tools above the timeline. */
import { lazy, type ReactNode, Suspense } from "react";
import type { LayoutName } from "../../api/types.gen";
import { count, plural } from "../../base/format";
import { Popover } from "../../components/popover";
import { usePage } from "../../state/page_context";
import type { MouseMode } from "../../timeline/contract";
import { ChoiceMenu } from "./choice_menu";
import { DownloadMenu } from "./download_menu";
import { MeasureIcon, PanIcon, PointerIcon, ZoomIcon } from "./icons";
import { KIND } from "./kinds";
import { KindLegend } from "./legend";
import type { ArrowChoice } from "./link";
import { SearchBox } from "./search_box";
import { useStage } from "./stage_context";
import { WorkersMenu } from "./workers_menu";

const TracksMenu = lazy(() => import("./tracks_menu"));

const MODES: readonly (readonly [MouseMode, string, () => ReactNode])[] = [
  ["select", "Select: press for a slice, drag for an area (1)", PointerIcon],
  ["pan", "Pan: drag the view (2)", PanIcon],
  ["zoom", "Zoom: drag up and down (3)", ZoomIcon],
  ["measure", "Measure: drag a distance (4)", MeasureIcon],
];

function ModeButtons() {
  const { link, change } = useStage();
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

const ARROWS: readonly (readonly [ArrowChoice, string, string])[] = [
  ["selected", "Of the selection", "one step each way"],
  ["chain", "Of the selection, all the way", "as far as they lead"],
  ["launches", "All launches in view", "call → kernel, bundled"],
  ["backward", "All gradients in view", "forward → backward, bundled"],
  ["view", "All in view", "bundled where they are close"],
  ["none", "None", ""],
];

const ARROW_WORDS: Readonly<Record<ArrowChoice, string>> = {
  selected: "selected",
  chain: "chain",
  launches: "launches",
  backward: "backward",
  view: "all",
  none: "none",
};

function ArrowsMenu() {
  const { link, change, sources } = useStage();
  const kinds = sources[0].manifest.flow_kinds.filter((kind) => kind.arrows > 0);
  const hint =
    kinds.length === 0
      ? "This recording has no arrows."
      : kinds.map((kind) => `${plural(kind.arrows, "arrow")} ${kind.label}`).join("\n");
  return (
    <ChoiceMenu
      button={`Arrows: ${ARROW_WORDS[link.arrows]}`}
      label="Arrows"
      title={hint}
      value={link.arrows}
      options={ARROWS}
      onChange={(arrows) => change({ arrows })}
    />
  );
}

const LAYOUTS: Readonly<Record<LayoutName, readonly [string, string]>> = {
  user: ["Your code", "without torch, Python itself and installed packages"],
  split: ["All", "in tracks of their own, aligned with the ops"],
  filtered: ["All but plumbing", "without _call_impl, contextlib and the like"],
  merged: ["Merged", "all, as recorded, in one stack with the ops"],
};

const LAYOUT_WORDS: Readonly<Record<LayoutName, string>> = {
  user: "your code",
  split: "all",
  filtered: "no plumbing",
  merged: "merged",
};

function PythonMenu() {
  const { link, change, sources } = useStage();
  const { manifest } = sources[0];
  const hasFrames = manifest.kinds.some(
    ({ kind, slices }) => (kind === KIND.python || kind === KIND.module) && slices > 0,
  );
  if (!hasFrames || manifest.layouts.length < 2) {
    return null;
  }
  const order: readonly LayoutName[] = ["user", "split", "filtered", "merged"];
  const hidden = sources.reduce((sum, source) => sum + source.manifest.hidden, 0);
  // Where no frame is the user's own, all of them are shown.
  const isAll = link.layout === "user" && hidden === 0;
  // The lanes of a subtree in focus are those of one layout.
  const choose = (layout: LayoutName) =>
    change({ layout, arrangement: { ...link.arrangement, focus: new Map() } });
  const options = order
    .filter((layout) => manifest.layouts.includes(layout))
    .map((layout) => [layout, ...LAYOUTS[layout]] as const);
  return (
    <>
      <ChoiceMenu
        button={`Python: ${isAll ? "all" : LAYOUT_WORDS[link.layout]}`}
        label="Python frames"
        title={
          isAll
            ? "No Python frame is of code of your own by its path: all are shown"
            : hidden > 0
              ? `${plural(hidden, "Python frame")} of libraries hidden`
              : ""
        }
        value={link.layout}
        options={options}
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

export function Toolbar() {
  const { model } = useStage();
  const { openHelp } = usePage();
  return (
    <div className="tl-bar" role="toolbar" aria-label="Timeline">
      <SearchBox />
      <KindLegend />
      <span className="grow" />
      <ModeButtons />
      <ArrowsMenu />
      <PythonMenu />
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
      <button
        type="button"
        className="btn quiet icon"
        aria-label="Keys"
        title="Keys (?)"
        onClick={openHelp}
      >
        ?
      </button>
    </div>
  );
}
