import { useQueryClient } from "@tanstack/react-query";
import { type RefObject, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { toProblem } from "../../../api/problem";
import type { Paint } from "../../../components/charts/live_canvas";
import { type Cell, cell } from "../../../state/cell";
import type { Area, Marker, PlacedSlice, Timeline } from "../../../timeline/contract";
import { usePalette } from "../../../timeline/palette";
import { engineSource, useEngine } from "../../../timeline/use_engine";
import { useArrows } from "../tracks/arrows";
import { type RowModel, rowModel, rowOfTrack } from "../tracks/rows";
import { makeActions, type Target } from "./actions";
import { type Link, sameSlice, useLink } from "./address";
import { useCameraLink } from "./address_sync";
import {
  type Frame,
  type HitPosition,
  type Moving,
  NO_FRAME,
  onRest,
  type Rested,
  type Selection,
  type TimelineContext,
  viewOf,
} from "./context";
import { listenerOf } from "./listener";
import { useSearch } from "./search";
import { placedOf, spoken, useSelection } from "./selection";
import { type Aligned, type Source, wholeRange } from "./sources";

/** Opens the canvas in its place, and tells it what the rest of the view knows. */

const REST_MS = 300;

/** null until the canvas has moved for the first time. */
export function useRested(frame: Cell<Frame>): Rested | null {
  const [rested, setRested] = useState<Rested | null>(null);
  useEffect(() => {
    const settle = (now: Frame) => setRested({ view: viewOf(now), width: now.width });
    return onRest(frame, REST_MS, settle);
  }, [frame]);
  return rested;
}

/** Puts the Trace view together: address, recordings, rows, search, selection, canvas. */

function openMoving(): Moving {
  return {
    frame: cell(NO_FRAME),
    hover: cell<ReturnType<Moving["hover"]["get"]>>(null),
    begun: cell(false),
    draft: cell<Area | null>(null),
    measured: cell<Area | null>(null),
    pending: cell(0),
    mark: cell<Marker | null>(null),
    said: cell(""),
    arrowsLeftOut: cell(0),
    notice: cell(""),
    paintMinimap: cell<Paint>(() => {}),
    position: cell<HitPosition | null>(null),
    row: cell(""),
  };
}

/** The area of the address, with rows by key as the canvas knows them. */
function areaOf({ area }: Link, model: RowModel): Area | null {
  if (area === null) {
    return null;
  }
  const ids = new Set(area.rows);
  const rows = [...model.infos.values()].filter(({ id }) => ids.has(id)).map(({ key }) => key);
  return { start: area.start, end: area.end, rows };
}

function useSyncedRows(
  engine: Timeline | null,
  sources: readonly Source[],
  model: RowModel,
  target: Cell<Target | null>,
): void {
  useEffect(() => engine?.setSources(sources.map(engineSource)), [engine, sources]);
  useEffect(() => {
    engine?.setRows(model.pinned, model.rows);
  }, [engine, model]);
  useEffect(() => {
    const reveal = () => {
      const wanted = target.get();
      const row = wanted === null ? null : rowOfTrack(model, wanted.source, wanted.track);
      const isDrawn = [...model.pinned, ...model.rows].some(({ key }) => key === row?.key);
      // A row that is only now brought back is drawn with the next model.
      if (engine !== null && wanted !== null && row !== null && isDrawn) {
        target.set(null);
        engine.reveal(row.key, wanted.lane);
      }
    };
    reveal();
    return target.subscribe(reveal);
  }, [engine, model, target]);
}

/** Instants of the steps of the first recording: the vertical grid. */
function useSyncedSteps(engine: Timeline | null, [main]: readonly Source[]): void {
  useEffect(() => {
    engine?.setSteps(main?.manifest.steps.map((step) => step.ts) ?? []);
  }, [engine, main]);
}

interface Overlay {
  readonly engine: Timeline | null;
  readonly link: Link;
  readonly model: RowModel;
  readonly sources: readonly Source[];
  readonly selection: Selection | null;
  readonly placed: PlacedSlice | null;
  readonly rested: Rested | null;
  readonly moving: Moving;
}

/** Selection, area, arrows, marks. */
function useSyncedOverlay(overlay: Overlay): void {
  const { engine, link, model, sources, selection, placed, rested, moving } = overlay;
  const { arrows, leftOut } = useArrows(
    link,
    sources,
    selection,
    rested?.view ?? null,
    rested?.width ?? 0,
  );
  const area = useMemo(() => areaOf(link, model), [link, model]);
  const known = useMemo(
    () =>
      selection?.details === undefined ? null : placedOf(selection.details.slice, selection.source),
    [selection],
  );
  const shown = known ?? (sameSlice(placed?.key, selection?.key) ? placed : null);
  useEffect(() => engine?.setSelection(shown), [engine, shown]);
  useEffect(() => engine?.setArea(area), [engine, area]);
  useEffect(() => engine?.setArrows(arrows), [engine, arrows]);
  useEffect(() => moving.arrowsLeftOut.set(leftOut), [moving, leftOut]);
  useEffect(() => engine?.setMode(link.mode), [engine, link.mode]);
  useEffect(() => {
    const draw = () => {
      const mark = moving.mark.get();
      engine?.setMarkers(mark === null ? link.notes : [...link.notes, mark]);
    };
    draw();
    return moving.mark.subscribe(draw);
  }, [engine, link.notes, moving]);
  const { details } = selection ?? {};
  useEffect(() => {
    if (details !== undefined) {
      moving.said.set(spoken(details));
    }
  }, [details, moving]);
}

export interface ContextParts {
  readonly place: RefObject<HTMLElement | null>;
  readonly aligned: Aligned;
  readonly isNarrow: boolean;
}

export interface OpenTimeline {
  readonly timeline: TimelineContext;
  readonly rested: Rested | null;
  /** What went wrong on the canvas, or with an action. */
  readonly trouble: string;
  readonly dismissError: () => void;
}

export function useTimeline({ place, aligned, isNarrow }: ContextParts): OpenTimeline {
  const client = useQueryClient();
  const { sources, note, clocks } = aligned;
  const [link, change] = useLink();
  const palette = usePalette();
  const [moving] = useState(openMoving);
  const [trouble, setTrouble] = useState("");
  const [placed, setPlaced] = useState<PlacedSlice | null>(null);
  const [target] = useState(() => cell<Target | null>(null));
  const latest = useRef<TimelineContext | null>(null);

  const contextNow = useCallback((): TimelineContext => {
    if (latest.current === null) {
      throw new Error("the Trace view is not open");
    }
    return latest.current;
  }, []);
  const actions = useMemo(
    () =>
      makeActions({
        timeline: contextNow,
        client,
        setTarget: target.set,
        fail: (error) => setTrouble(toProblem(error).message),
      }),
    [contextNow, client, target],
  );
  const [listener] = useState(() =>
    listenerOf({ timeline: contextNow, onPlaced: setPlaced, onProblem: setTrouble }),
  );

  const whole = useMemo(() => wholeRange(sources), [sources]);
  const model = useMemo(() => rowModel(sources, link.arrangement), [sources, link.arrangement]);
  const search = useSearch(link, sources);
  const selection = useSelection(link, sources, model);
  const engine = useEngine(place, listener, palette);
  const timeline: TimelineContext = {
    sources,
    whole,
    alignmentNote: note,
    clocks,
    link,
    change,
    model,
    palette,
    engine,
    moving,
    selection,
    search,
    actions,
    isNarrow,
  };
  // Before the effects below: the canvas calls back as soon as it knows its rows.
  latest.current = timeline;

  const rested = useRested(moving.frame);
  useSyncedRows(engine, sources, model, target);
  useSyncedSteps(engine, sources);
  useEffect(() => engine?.setHighlight(search.highlight), [engine, search.highlight]);
  useSyncedOverlay({ engine, link, model, sources, selection, placed, rested, moving });
  const [main] = sources;
  useCameraLink({ engine, moving, whole, main, link });
  return { timeline, rested, trouble, dismissError: () => setTrouble("") };
}
