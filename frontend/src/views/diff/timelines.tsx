/** Both recordings on one axis: the chosen step, or a range in it, begins together in A and in B. */
import { useQuery } from "@tanstack/react-query";
import { type RefObject, useEffect, useMemo, useRef, useState } from "react";
import type { Answer } from "../../api/client";
import { getView, type TraceKey } from "../../api/routes";
import type { DiffMarks, DiffQuery, StepMarks, TimelineManifest } from "../../api/types.gen";
import { axisNumber, time, timeScale } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { LiveCanvas, type Paint } from "../../components/charts/live_canvas";
import { Select } from "../../components/controls/select";
import { ViewLink } from "../../components/controls/view_link";
import { Answered } from "../../components/states/answered";
import { ProblemNote } from "../../components/states/problem_note";
import { type Cell, cell, useCell } from "../../state/cell";
import { useAddress, useValues } from "../../state/host/environment";
import { usePageVisible } from "../../state/host/visibility";
import { type Asked, askAgain, useAsked, usePart, whileReading } from "../../state/parts";
import type {
  Camera,
  Hit,
  PlacedRow,
  Timeline,
  TimelineListener,
  TimelinePalette,
  TimelineRow,
} from "../../timeline/contract";
import { usePalette } from "../../timeline/palette";
import { rowHeight } from "../../timeline/rows/layout";
import { rulerTicks } from "../../timeline/ruler";
import { engineSource, useEngine } from "../../timeline/use_engine";
import type { Base } from "./base";

const HEADING_HEIGHT = 22;
const MAIN_LANES = 6;
const OTHER_LANES = 3;
const MOST_STREAMS = 4;
const MARGIN = 0.04;
const LEAST_HEIGHT = 160;
const MOST_HEIGHT = 560;

/** One of the two, as far as it is drawn. */
export interface Lined {
  readonly tag: "A" | "B";
  readonly asked: Asked;
  readonly manifest: TimelineManifest;
  /** ns to add to its times, so that what was chosen begins at 0. */
  readonly offset: number;
}

/** The tracks that a comparison needs: the first thread with ops, and the busiest streams. */
export function tracksOf({ tracks }: TimelineManifest): readonly number[] {
  const all = tracks
    .map((track, index) => ({ track, index }))
    .filter(({ track }) => track.lanes > 0);
  const ops = all.filter(({ track }) => track.kind === "thread");
  const main = ops.reduce<(typeof ops)[number] | undefined>(
    (best, one) => (best === undefined || one.track.slices > best.track.slices ? one : best),
    undefined,
  );
  const streams = all
    .filter(({ track }) => track.kind === "stream" || track.kind === "graph")
    .sort((a, b) => b.track.busy_ns - a.track.busy_ns)
    .slice(0, MOST_STREAMS)
    .sort((a, b) => a.index - b.index);
  return [...(main === undefined ? [] : [main]), ...streams].map(({ index }) => index);
}

/** The rows of both, A above B. */
export function rowsOf(sides: readonly Lined[]): readonly TimelineRow[] {
  return sides.flatMap(({ tag, manifest }, source) => [
    { type: "heading" as const, key: tag, height: HEADING_HEIGHT },
    ...tracksOf(manifest).map((index): TimelineRow => {
      const track = manifest.tracks[index];
      const most = track?.kind === "thread" ? MAIN_LANES : OTHER_LANES;
      const lanes = Math.min(track?.lanes ?? 1, most);
      return {
        type: "track",
        key: `${tag} ${index}`,
        source,
        track: index,
        lanes,
        fullLanes: lanes,
        mode: "full",
        firstLane: 0,
      };
    }),
  ]);
}

/** Where a side begins: the start of a phase of a step, else of the step. */
export function beginOf(step: StepMarks | undefined, phase: string): number {
  return step?.phases.find(({ name }) => name === phase)?.start ?? step?.start ?? 0;
}

/** The manifest of one of them; asked again while the server prepares it. */
function useManifestOf({ key, digest }: Asked) {
  const visible = usePageVisible();
  return useQuery<Answer<TimelineManifest>>({
    queryKey: ["timeline", digest, key, "plain"],
    queryFn: ({ signal }) => getView("timeline", key, digest, {}, signal),
    enabled: digest !== "",
    refetchInterval: whileReading(visible),
  });
}

interface Moved {
  readonly camera: Camera;
  readonly rows: readonly PlacedRow[];
  readonly width: number;
}

const NOT_MOVED: Moved = { camera: { start: 0, nsPerPx: 1, scrollY: 0 }, rows: [], width: 0 };

interface Cells {
  readonly moved: Cell<Moved>;
  readonly hit: Cell<Hit | null>;
  readonly problem: Cell<string>;
}

function listenerOf({ moved, hit, problem }: Cells): TimelineListener {
  const nothing = () => {};
  return {
    onCamera: (camera, rows, { width }) => moved.set({ camera, rows, width }),
    onHover: (found) => hit.set(found),
    onSelect: nothing,
    onArea: nothing,
    onMeasure: nothing,
    onArrow: nothing,
    onLoading: nothing,
    onProblem: (message) => problem.set(message),
  };
}

function useCanvas(
  place: RefObject<HTMLElement | null>,
  cells: Cells,
  sides: readonly Lined[],
  view: readonly [number, number],
): Timeline | null {
  const listener = useMemo(() => listenerOf(cells), [cells]);
  const engine = useEngine(place, listener, usePalette());
  useEffect(() => {
    engine?.setMode("pan");
    engine?.setOrigin(0);
  }, [engine]);
  useEffect(() => {
    const placed = sides.map(({ asked, manifest, offset }, source) => ({
      ...asked,
      manifest,
      offset,
      source,
    }));
    engine?.setSources(placed.map(engineSource));
    engine?.setRows([], rowsOf(sides));
  }, [engine, sides]);
  const [start, end] = view;
  useEffect(() => engine?.show(start, end, true), [engine, start, end]);
  return engine;
}

/** Round times from where both begin. */
function Ruler({ moved, palette }: { moved: Cell<Moved>; palette: TimelinePalette }) {
  const paint = useMemo<Paint>(
    () => (context, width, height) => {
      const { camera } = moved.get();
      const ticks = rulerTicks(camera.start, camera.nsPerPx, width, 0);
      const scale = timeScale(Math.max(Math.abs(camera.start), ticks.step));
      context.font = '11px system-ui, "Segoe UI", Roboto, sans-serif';
      context.textBaseline = "middle";
      for (let at = 0; at < ticks.count; at++) {
        const instant = (ticks.first + at) * ticks.step;
        const x = Math.round((instant - camera.start) / camera.nsPerPx);
        context.fillStyle = palette.hatch;
        context.fillRect(x, height - 6, 1, 6);
        const text = `${axisNumber(instant / scale.unit.size)} ${scale.unit.name}`;
        if (x + 3 + context.measureText(text).width < width) {
          context.fillStyle = palette.inkFaint;
          context.fillText(text, x + 3, 8);
        }
      }
    },
    [moved, palette],
  );
  return <LiveCanvas className="diff-ruler" aria-hidden="true" paint={paint} cells={[moved]} />;
}

const labelOf = (sides: readonly Lined[], row: TimelineRow): string => {
  if (row.type !== "track") {
    return "";
  }
  return sides[row.source]?.manifest.tracks[row.track]?.label ?? "";
};

function Labels({ sides, moved }: { sides: readonly Lined[]; moved: Cell<Moved> }) {
  const rows = useCell(moved, (now) => now.rows);
  return (
    <div className="diff-labels" aria-hidden="true">
      {rows.map(({ row, top, height }) => {
        const side = sides.find(({ tag }) => tag === row.key);
        const words = side === undefined ? labelOf(sides, row) : side.asked.key.run;
        return (
          <div
            key={row.key}
            className={side === undefined ? "" : "diff-heading"}
            style={{ top, height }}
            title={harmless(words)}
          >
            {side === undefined ? null : (
              <span className={side.tag === "A" ? "diff-tag" : "diff-tag other"}>{side.tag}</span>
            )}
            <span className={side === undefined ? "clip dim" : "clip"}>
              {harmless(words, side === undefined ? 60 : 200)}
            </span>
          </div>
        );
      })}
    </div>
  );
}

/** What is below the pointer, and the way to it in the Trace view. */
function Below({ sides, cells }: { sides: readonly Lined[]; cells: Cells }) {
  const hit = useCell(cells.hit);
  const problem = useCell(cells.problem);
  const view = useCell(cells.moved, ({ camera, width }) =>
    width === 0 ? "" : `${camera.start} ${camera.start + width * camera.nsPerPx}`,
  );
  const [start = 0, end = 0] = view.split(" ").map(Number);
  const side = hit === null || hit.type === "counter" ? undefined : sides[hit.key.source];
  return (
    <div className="diff-below">
      <p className="hint grow clip" role="status">
        {problem !== "" ? problem : null}
        {hit === null || hit.type === "counter" || side === undefined
          ? "Drag or A and D move both, the wheel with Ctrl or W and S zoom both."
          : `${side.tag}: ${harmless(hit.name, 120)} · ${
              hit.type === "bucket" ? `${hit.count} slices, ` : ""
            }${time(hit.end - hit.start)} · begins at ${time(hit.start)}`}
      </p>
      {sides.map(({ tag, asked, offset }) => (
        <ViewLink
          key={tag}
          stem="timeline"
          params={{
            run: asked.key.run,
            worker: asked.key.worker,
            span: asked.key.span,
            at: `${Math.round(start - offset)}-${Math.round(end - offset)}`,
          }}
          className="link nowrap"
          title={`This range of ${tag} in the Trace view`}
        >
          {tag} in Trace
        </ViewLink>
      ))}
    </div>
  );
}

function Canvas({ sides, view }: { sides: readonly Lined[]; view: readonly [number, number] }) {
  const place = useRef<HTMLDivElement>(null);
  const [cells] = useState<Cells>(() => ({
    moved: cell<Moved>(NOT_MOVED),
    hit: cell<Hit | null>(null),
    problem: cell(""),
  }));
  const palette = usePalette();
  const engine = useCanvas(place, cells, sides, view);
  const rows = rowsOf(sides).reduce((sum, row) => sum + rowHeight(row), 0);
  const height = Math.min(MOST_HEIGHT, Math.max(LEAST_HEIGHT, rows + 8));
  const moves: Readonly<Record<string, () => void>> = {
    a: () => engine?.pan(-0.15),
    d: () => engine?.pan(0.15),
    w: () => engine?.zoom(1.5),
    s: () => engine?.zoom(1 / 1.5),
    ArrowLeft: () => engine?.pan(-0.15),
    ArrowRight: () => engine?.pan(0.15),
    "0": () => engine?.show(...view),
  };
  return (
    <>
      <div className="diff-timelines" style={{ gridTemplateRows: `22px ${height}px` }}>
        <span className="hint">from where both begin</span>
        <Ruler moved={cells.moved} palette={palette} />
        <Labels sides={sides} moved={cells.moved} />
        <div
          ref={place}
          className="diff-canvas"
          role="application"
          aria-label="Both timelines. W and S zoom, A and D move, 0 shows the step again."
          // biome-ignore lint/a11y/noNoninteractiveTabindex: it takes keys
          tabIndex={0}
          onKeyDown={(event) => {
            const move =
              event.ctrlKey || event.metaKey || event.altKey ? undefined : moves[event.key];
            if (move !== undefined) {
              event.preventDefault();
              event.stopPropagation();
              move();
            }
          }}
        />
      </div>
      <Below sides={sides} cells={cells} />
    </>
  );
}

const stepWords = ({ name }: StepMarks): string =>
  name === "" ? "whole recording" : `step ${name}`;

/** The step of a side that the address names, else the first of those that both have, else the first. */
export function stepOf(
  steps: readonly StepMarks[],
  others: readonly StepMarks[],
  wanted: string | undefined,
): StepMarks | undefined {
  const names = new Set(others.map(({ name }) => name));
  return (
    steps.find(({ name }) => name === wanted) ??
    steps.find(({ name }) => names.has(name)) ??
    steps[0]
  );
}

interface AlignedProps {
  readonly marks: DiffMarks;
  readonly manifests: readonly [TimelineManifest, TimelineManifest];
  readonly asked: readonly [Asked, Asked];
}

function Aligned({ marks, manifests, asked }: AlignedProps) {
  const address = useAddress();
  const values = useValues();
  const a = stepOf(marks.base, marks.other, values["diff.a"]);
  const b = stepOf(marks.other, marks.base, values["diff.b"]);
  const phase = marks.phases.find((name) => name === values["diff.phase"]) ?? "";
  const [startA, startB] = [beginOf(a, phase), beginOf(b, phase)];
  const [baseKey, otherKey] = asked;
  const sides = useMemo<readonly Lined[]>(
    () => [
      { tag: "A", asked: baseKey, manifest: manifests[0], offset: -startA },
      { tag: "B", asked: otherKey, manifest: manifests[1], offset: -startB },
    ],
    [baseKey, otherKey, manifests, startA, startB],
  );
  const length = (step: StepMarks | undefined, from: number) =>
    step === undefined ? 1 : step.end - from;
  const before = Math.min(0, (a?.start ?? 0) - startA, (b?.start ?? 0) - startB);
  const after = Math.max(length(a, startA), length(b, startB), 1);
  const margin = (after - before) * MARGIN;
  const steps = (tag: "a" | "b", list: readonly StepMarks[], chosen: StepMarks | undefined) => (
    <span className="row hint">
      {tag.toUpperCase()}
      <Select
        label={`Step of ${tag.toUpperCase()}`}
        value={chosen?.name ?? ""}
        options={list.map((step) => [step.name, stepWords(step)] as const)}
        onChange={(next) => address.replace({ [`diff.${tag}`]: next })}
      />
    </span>
  );
  return (
    <>
      <div className="diff-align">
        <span className="hint">Begin together:</span>
        {steps("a", marks.base, a)}
        {steps("b", marks.other, b)}
        <span className="row hint">
          at
          <Select
            label="Phase"
            value={phase}
            options={[
              ["", "the start of the step"] as const,
              ...marks.phases.map((name) => [name, harmless(name, 60)] as const),
            ]}
            onChange={(next) => address.replace({ "diff.phase": next === "" ? undefined : next })}
          />
        </span>
      </div>
      <Canvas sides={sides} view={[before - margin, after + margin]} />
    </>
  );
}

function Waiting({ answers }: { answers: readonly (Answer<TimelineManifest> | undefined)[] }) {
  const reading = answers.find((answer) => answer?.state === "reading");
  return (
    <p className="empty dim" aria-live="polite">
      {reading === undefined
        ? "Opening both timelines."
        : "Preparing the timelines, once for each."}
    </p>
  );
}

const keyOf = ({ run, worker, span }: Base): TraceKey => ({
  run: run.name,
  worker: worker.name,
  span: span.key,
});

export function TwoTimelines({
  query,
  base,
  modes,
}: {
  query: DiffQuery;
  base: Base;
  modes: React.ReactNode;
}) {
  const other = useAsked();
  const { digest } = base.span;
  const { run, worker, span } = keyOf(base);
  const own = useMemo<Asked>(
    () => ({ key: { run, worker, span }, digest }),
    [run, worker, span, digest],
  );
  const state = usePart("diff/marks", other, query, true);
  const results = [useManifestOf(own), useManifestOf(other)] as const;
  const problem = results[0].error ?? results[1].error;
  const [one, two] = [results[0].data, results[1].data];
  const first = one?.state === "ready" ? one.data : null;
  const second = two?.state === "ready" ? two.data : null;
  const manifests = useMemo(
    () => (first === null || second === null ? null : ([first, second] as const)),
    [first, second],
  );
  const asked = useMemo(() => [own, other] as const, [own, other]);
  return (
    <section className="panel" aria-label="Two timelines">
      <div className="tools">{modes}</div>
      <div className="body">
        {problem !== null ? (
          <ProblemNote
            problem={problem}
            again={() => {
              askAgain(results[0].refetch);
              askAgain(results[1].refetch);
            }}
          />
        ) : manifests === null ? (
          <Waiting answers={[one, two]} />
        ) : (
          <Answered state={state}>
            {(marks) => <Aligned marks={marks} manifests={manifests} asked={asked} />}
          </Answered>
        )}
      </div>
    </section>
  );
}
