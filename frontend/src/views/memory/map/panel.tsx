/** Where blocks lie, by address and time: a picture that is panned and zoomed. */
import { useQueries } from "@tanstack/react-query";
import {
  type KeyboardEvent,
  type PointerEvent,
  useCallback,
  useEffect,
  useRef,
  useState,
} from "react";
import type { Answer } from "../../../api/client";
import { getPartBytes } from "../../../api/routes";
import type { AddressMap, Memory } from "../../../api/types.gen";
import { useWidth } from "../../../base/measure";
import { plainTable } from "../../../base/text/delimited";
import { bytes, plural, time } from "../../../base/text/format";
import { LiveCanvas } from "../../../components/charts/live_canvas";
import { CopyTable } from "../../../components/controls/copy_table";
import { Answered } from "../../../components/states/answered";
import { Panel } from "../../../components/states/panel";
import { ProblemNote } from "../../../components/states/problem_note";
import { Prose } from "../../../components/text/prose";
import { useThemeName } from "../../../state/host/environment";
import { type Asked, askAgain, useAsked, usePart } from "../../../state/parts";
import { layerToken } from "../colors";
import { Block } from "../tables/block";
import { AXIS, paintMap, type ShownTile } from "./paint";
import {
  addressAt,
  blockAt,
  type DecodedTile,
  decodeTile,
  type MapView,
  movedView,
  type TileName,
  tilesOf,
  zoomedView,
} from "./tiles";

const HEIGHT = 300;
const AGAIN_MS = 700;
const CLICK_PX = 4;
const CLOSER = 0.7;
const STEP = 0.15;

function tileQuery({ key, digest }: Asked, device: string, name: TileName) {
  const { level, rowLevel, tile, rowTile } = name;
  const query = { device, level, row_level: rowLevel, tiles: `${tile}.${rowTile}` };
  return {
    queryKey: ["memory map", digest, key, query],
    queryFn: async ({ signal }: { signal: AbortSignal }): Promise<Answer<DecodedTile>> => {
      const answer = await getPartBytes("memory/map_tiles", key, digest, query, signal);
      return answer.state === "ready" ? { state: "ready", data: decodeTile(answer.data) } : answer;
    },
    gcTime: 120_000,
    refetchInterval: ({ state }: { state: { data?: Answer<DecodedTile> | undefined } }) =>
      state.data?.state === "reading" ? AGAIN_MS : (false as const),
  };
}

/** The tiles of a view that are here, and whether some are still on their way. */
function useTiles(map: AddressMap, view: MapView, width: number) {
  const asked = useAsked();
  const names = width > 0 ? tilesOf(map, view, width, HEIGHT - AXIS) : [];
  const results = useQueries({ queries: names.map((name) => tileQuery(asked, map.device, name)) });
  const shown: ShownTile[] = [];
  for (const [at, { data }] of results.entries()) {
    const name = names[at];
    if (data?.state === "ready" && name !== undefined) {
      shown.push({ name, tile: data.data });
    }
  }
  return {
    shown,
    isLoading: shown.length < names.length,
    problem: results.find(({ error }) => error !== null)?.error ?? null,
    again: () => {
      for (const { refetch } of results) {
        askAgain(refetch);
      }
    },
  };
}

interface MapCanvasProps {
  readonly map: AddressMap;
  readonly categories: Memory["categories"];
}

const wholeOf = (map: AddressMap): MapView => ({
  start: 0,
  end: Math.max(1, map.end_ns),
  low: 0,
  high: Math.max(1, map.bytes),
});

function MapCanvas({ map, categories }: MapCanvasProps) {
  const [place, width] = useWidth<HTMLDivElement>();
  const [view, setView] = useState(() => wholeOf(map));
  const [words, setWords] = useState("");
  const [picked, setPicked] = useState<number | null>(null);
  const drag = useRef<{ x: number; y: number; view: MapView } | null>(null);
  const theme = useThemeName();
  const { shown, isLoading, problem, again } = useTiles(map, view, width);
  const keys = Object.keys(categories);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme changes the tokens
  const paint = useCallback(
    (context: CanvasRenderingContext2D, wide: number, height: number) =>
      paintMap(context, wide, height, {
        map,
        view,
        shown,
        picked,
        tokens: keys.map((key) => layerToken(key, 0)),
      }),
    [map, view, shown, picked, keys, theme],
  );

  const pointAt = (event: { clientX: number; clientY: number }) => {
    const box = place.current?.getBoundingClientRect();
    const across = (event.clientX - (box?.left ?? 0)) / Math.max(1, width);
    const down = (event.clientY - (box?.top ?? 0)) / (HEIGHT - AXIS);
    return {
      ts: view.start + Math.max(0, Math.min(1, across)) * (view.end - view.start),
      offset: view.high - Math.max(0, Math.min(1, down)) * (view.high - view.low),
    };
  };
  const found = ({ ts, offset }: { ts: number; offset: number }): number => {
    for (const { name, tile } of shown) {
      const x = ts / 2 ** name.level - name.tile * map.tile_buckets;
      const y = offset / 2 ** name.rowLevel - name.rowTile * map.tile_rows;
      const block = blockAt(tile, x, y);
      if (block >= 0) {
        return block;
      }
    }
    return -1;
  };
  useEffect(() => {
    const element = place.current;
    const onWheel = (event: WheelEvent) => {
      // Without a key, the page is scrolled.
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        setView(zoomedView(map, view, pointAt(event), event.deltaY < 0 ? CLOSER : 1 / CLOSER));
      }
    };
    element?.addEventListener("wheel", onWheel, { passive: false });
    return () => element?.removeEventListener("wheel", onWheel);
  });
  const onPointerMove = (event: PointerEvent) => {
    const { current } = drag;
    if (current !== null) {
      const across = (current.x - event.clientX) / Math.max(1, width);
      setView(movedView(map, current.view, across, (event.clientY - current.y) / (HEIGHT - AXIS)));
    }
    const at = pointAt(event);
    const here = found(at) >= 0 ? " · press to see the block" : "";
    setWords(`${time(at.ts)} · ${addressAt(map, at.offset)}${here}`);
  };
  const onPointerUp = (event: PointerEvent) => {
    const { current } = drag;
    drag.current = null;
    const isClick =
      current !== null &&
      Math.hypot(event.clientX - current.x, event.clientY - current.y) <= CLICK_PX;
    if (isClick) {
      const block = found(pointAt(event));
      setPicked(block < 0 ? null : block);
    }
  };
  const middle = { ts: (view.start + view.end) / 2, offset: (view.low + view.high) / 2 };
  const zoom = (by: number) => setView(zoomedView(map, view, middle, by));
  const acts: Readonly<Record<string, () => void>> = {
    ArrowLeft: () => setView(movedView(map, view, -STEP, 0)),
    ArrowRight: () => setView(movedView(map, view, STEP, 0)),
    ArrowUp: () => setView(movedView(map, view, 0, STEP)),
    ArrowDown: () => setView(movedView(map, view, 0, -STEP)),
    "+": () => zoom(CLOSER),
    "=": () => zoom(CLOSER),
    "-": () => zoom(1 / CLOSER),
    "0": () => setView(wholeOf(map)),
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : acts[event.key];
    if (act !== undefined) {
      event.preventDefault();
      act();
    }
  };
  return (
    <>
      <div className="row wrap mem-range">
        <span className="hint grow" aria-live="off">
          {words === ""
            ? `${plural(map.bands.length, "band")} of addresses, ${bytes(map.bytes)} · drag moves, Ctrl and wheel zoom`
            : words}
        </span>
        <button type="button" className="btn quiet small" onClick={() => zoom(CLOSER)}>
          Zoom in <kbd>+</kbd>
        </button>
        <button type="button" className="btn quiet small" onClick={() => zoom(1 / CLOSER)}>
          Zoom out <kbd>−</kbd>
        </button>
        <button type="button" className="btn quiet small" onClick={() => setView(wholeOf(map))}>
          All <kbd>0</kbd>
        </button>
      </div>
      {problem === null ? null : <ProblemNote problem={problem} again={again} />}
      <div
        ref={place}
        className={isLoading ? "mem-map stale" : "mem-map"}
        role="application"
        aria-label={`Blocks by address and time, ${bytes(map.bytes)} of addresses. Arrows move, plus and minus zoom, zero shows all.`}
        aria-busy={isLoading}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it takes keys
        tabIndex={0}
        onKeyDown={onKeyDown}
        onPointerDown={(event) => {
          if (event.button === 0) {
            event.currentTarget.setPointerCapture(event.pointerId);
            drag.current = { x: event.clientX, y: event.clientY, view };
          }
        }}
        onPointerMove={onPointerMove}
        onPointerUp={onPointerUp}
        onPointerCancel={() => {
          drag.current = null;
        }}
        onPointerLeave={() => setWords("")}
      >
        <LiveCanvas aria-hidden="true" cells={[]} paint={paint} />
      </div>
      {picked === null ? null : <Block block={picked} />}
    </>
  );
}

const bandsTable = plainTable<AddressMap["bands"][number]>(["address", "offset", "bytes"]);

interface MapPanelProps {
  readonly answer: Memory;
  readonly isOld: boolean;
  readonly noBlocks: string;
}

export function MapPanel({ answer, isOld, noBlocks }: MapPanelProps) {
  const state = usePart(
    "memory/map",
    useAsked(),
    noBlocks === "" ? { device: answer.device } : null,
  );
  return (
    <Panel
      title="Blocks by address and time"
      isOld={isOld}
      controls={
        <CopyTable
          label="blocks by address"
          table={() => bandsTable(state.data?.bands ?? [])}
          note="Bands of addresses. “Events” above has every block."
        />
      }
    >
      {noBlocks === "" ? (
        <Answered state={state}>
          {(map) =>
            map.missing !== "" || map.bytes === 0 ? (
              <p className="ink2">
                Not available. <Prose text={map.missing} />
              </p>
            ) : (
              <>
                <MapCanvas key={map.device} map={map} categories={answer.categories} />
                <p className="hint">
                  <Prose text={map.note} />
                </p>
              </>
            )
          }
        </Answered>
      ) : (
        <p className="ink2">
          Not available. <Prose text={noBlocks} />
        </p>
      )}
    </Panel>
  );
}
