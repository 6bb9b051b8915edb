import { type Extents, View } from "./camera/view";
import type {
  Area,
  Camera,
  Hit,
  Marker,
  MouseMode,
  Move,
  OpenTimeline,
  PlacedSlice,
  Timeline,
  TimelineArrow,
  TimelineListener,
  TimelinePalette,
  TimelineRow,
  TimelineSource,
  TimelineStats,
} from "./contract";
import { arrowAt } from "./draw/arrows";
import { Gestures } from "./input/gestures";
import { hitAt } from "./input/hit";
import { type Drawn, type Frame, Loop } from "./loop";
import { News } from "./news";
import { Renderer } from "./renderer";
import { lanePitch, laneTop, PAD_TOP } from "./rows/layout";
import { PlacedRows } from "./rows/placed";
import { State } from "./state";
import { Surface } from "./surface";
import type { Loader } from "./tiles/loader";
import { NamesFetcher } from "./tiles/names_fetcher";
import { requestsFor } from "./tiles/planner";
import { Scheduler } from "./tiles/scheduler";
import { openLoader } from "./tiles/worker_loader";

/** Writes down how the timeline fares, for whoever measures from outside. */

const EVERY_MS = 1000;

export class StatsNote {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private hasTiles = false;

  constructor(
    private readonly element: HTMLElement,
    private readonly stats: () => TimelineStats,
  ) {}

  /** When the first tiles are drawn, then at most once a second, and in the end what is true. */
  renew(tiles: number): void {
    if (!this.hasTiles && tiles > 0) {
      this.hasTiles = true;
      this.write();
    }
    this.timer ??= setTimeout(this.write, EVERY_MS);
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  private readonly write = (): void => {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.element.dataset["stats"] = JSON.stringify(this.stats());
  };
}

/** Tells the scheduler which tiles the view needs, as often as it is worth it. */

/** While the picture moves. */
const PLAN_EVERY_MS = 40;

export class TilePlanner {
  private isStale = true;
  private lastAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly scheduler: Scheduler) {}

  /** What is requested for may be something else now. */
  renew(): void {
    this.isStale = true;
  }

  /** What will be seen when the view has come to rest: levels it only passes are not asked for. */
  tileRequest(nowMs: number, isMoving: boolean, view: View, state: State, height: number): void {
    if (!this.isStale || (isMoving && nowMs - this.lastAt < PLAN_EVERY_MS)) {
      return;
    }
    this.isStale = false;
    this.lastAt = nowMs;
    const { target } = view;
    const edge = Math.min(state.pinned.stack.height, height);
    const tileRequests = requestsFor({
      ...view.targetSpan(),
      nsPerPx: target.nsPerPx,
      parts: [
        { plan: state.pinned, from: 0, to: edge },
        { plan: state.rows, from: target.scrollY, to: target.scrollY + height - edge },
      ],
    });
    this.scheduler.tileRequest(tileRequests);
  }
}

/** The timeline: surface, camera, tiles, pointers and the loop that draws them, put together. */

/** Beside the whole trace as it is shown first, as a share of it. */
const FIRST_MARGIN = 0.02;

export const openTimeline: OpenTimeline = (element, listener, palette) =>
  new Engine(element, listener, palette, openLoader());

/** What `openTimeline` makes, with the loader as a parameter. */
export class Engine implements Timeline {
  private readonly state = new State();
  private readonly news: News;
  private readonly view: View;
  private readonly surface: Surface;
  private readonly renderer: Renderer;
  private readonly loop: Loop;
  private readonly scheduler: Scheduler;
  private readonly planner: TilePlanner;
  private readonly namesFetcher: NamesFetcher;
  private readonly gestures: Gestures;
  private readonly note: StatsNote;
  private readonly reducedMotion = window.matchMedia("(prefers-reduced-motion: reduce)");
  private readonly placed = new PlacedRows();
  private isCameraNews = true;
  private isHoverStale = false;
  private width = 0;

  constructor(
    element: HTMLElement,
    listener: TimelineListener,
    palette: TimelinePalette,
    loader: Loader,
  ) {
    this.view = new View(this.extents, () => this.reducedMotion.matches);
    this.loop = new Loop(this.draw, () => this.surface.isVisible);
    this.news = new News(listener, this.loop.wake);
    this.surface = new Surface(element, () => this.onSize());
    this.renderer = new Renderer(this.surface, this.state, palette);
    this.scheduler = new Scheduler(loader, {
      onTiles: (source, tiles, pages) => {
        for (const tile of tiles) {
          this.state.store.put(source.id, tile, this.loop.number);
        }
        this.namesFetcher.want(source, pages);
        this.planner.renew();
        this.loop.picture();
      },
      onProblem: (message) => this.news.problem(message),
      onPending: (count) => this.news.pending(count),
    });
    this.planner = new TilePlanner(this.scheduler);
    this.namesFetcher = new NamesFetcher(loader, {
      onNames: this.loop.picture,
      onProblem: (message) => this.news.problem(message),
    });
    this.gestures = new Gestures(element, this.gestureHost());
    this.note = new StatsNote(element, () => this.stats());
    window.addEventListener("blur", this.onBlur);
    this.onSize();
  }

  setSources(sources: readonly TimelineSource[]): void {
    const isFirst = this.state.sources.size === 0;
    const { fresh, gone } = this.state.setSources(sources);
    for (const source of gone) {
      this.scheduler.forget(source);
      this.namesFetcher.forget(source);
    }
    for (const source of fresh) {
      this.namesFetcher.begin(source);
    }
    if (isFirst) {
      const { low, high } = this.extents();
      const margin = (high - low) * FIRST_MARGIN;
      this.view.show(low - margin, high + margin, true);
    }
    this.changed();
  }

  setRows(pinned: readonly TimelineRow[], rows: readonly TimelineRow[]): void {
    this.state.setRows(pinned, rows);
    this.changed();
  }

  setPalette(palette: TimelinePalette): void {
    this.renderer.setPalette(palette);
    this.loop.picture();
  }

  setMode(mode: MouseMode): void {
    this.state.mode = mode;
    if (mode !== "measure") {
      this.setMeasure(null);
    }
  }

  setSelection(slice: PlacedSlice | null): void {
    this.state.selection = slice;
    this.loop.overlay();
  }

  setArea(area: Area | null): void {
    this.state.area = area;
    this.loop.overlay();
  }

  setArrows(arrows: readonly TimelineArrow[]): void {
    this.state.arrows = arrows;
    this.loop.overlay();
  }

  setMarkers(markers: readonly Marker[]): void {
    this.state.markers = markers;
    this.loop.overlay();
  }

  setHighlight(names: ReadonlyMap<number, ReadonlySet<number>> | null): void {
    this.state.setHighlight(names);
    this.loop.picture();
  }

  setSteps(instants: readonly number[]): void {
    this.state.steps = instants;
    this.loop.picture();
  }

  setOrigin(instant: number): void {
    this.state.origin = instant;
    this.loop.picture();
  }

  camera(): Camera {
    return this.view.camera();
  }

  show(start: number, end: number, jump = false): void {
    this.view.show(start, end, jump);
    this.moved();
  }

  reveal(key: string, lane: number): void {
    const index = this.state.rows.stack.indexOf(key);
    const row = this.state.rows.stack.rows[index];
    if (row !== undefined) {
      const top = this.state.rows.stack.top(index);
      if (row.type === "track") {
        this.view.reveal(top + PAD_TOP + laneTop(row, lane), lanePitch(row, lane));
      } else {
        this.view.reveal(top, row.height);
      }
      this.moved();
    }
  }

  pan(share: number): void {
    this.view.panShare(share, performance.now());
    this.moved();
  }

  zoom(factor: number, at?: number): void {
    this.view.scaleAt(1 / factor, at === undefined ? this.anchorX() : this.view.xOf(at));
    this.moved();
  }

  scroll(px: number): void {
    this.view.dragBy(0, px);
    this.moved();
    this.loop.picture();
  }

  press(move: Move, isFast: boolean): void {
    this.view.held.press(move, isFast);
    this.moved();
  }

  release(move: Move): void {
    this.view.held.release(move);
  }

  name(source: number, code: number): string {
    return this.state.sources.get(source)?.names.text(code) ?? "";
  }

  png(): Promise<Blob> {
    this.renderer.drawAll(this.view.now, this.loop.number, Number.POSITIVE_INFINITY);
    return this.surface.png();
  }

  stats(): TimelineStats {
    const { budget } = this.loop;
    return {
      frames: budget.frames,
      lastFrameMs: budget.lastMs,
      worstFrameMs: budget.worstMs,
      p95FrameMs: budget.p95(),
      tileBytes: this.state.store.bytes,
      bitmapBytes: this.renderer.bitmapBytes,
      tiles: this.state.store.tiles,
      requests: this.scheduler.requests,
    };
  }

  setActive(isActive: boolean): void {
    if (!isActive) {
      this.view.held.releaseAll();
      this.scheduler.tileRequest([]);
    }
    this.planner.renew();
    this.loop.setActive(isActive);
  }

  close(): void {
    this.loop.stop();
    this.note.stop();
    this.gestures.close();
    this.namesFetcher.close();
    this.scheduler.close();
    this.surface.close();
    window.removeEventListener("blur", this.onBlur);
  }

  private readonly extents = (): Extents =>
    this.state.extents(this.surface.size.width, this.surface.size.height);

  private readonly onBlur = (): void => this.view.held.releaseAll();

  private onSize(): void {
    const { width } = this.surface.size;
    if (width > 0) {
      this.view.resize(this.width);
      this.width = width;
    }
    this.changed();
  }

  /** What there is to see changed. */
  private changed(): void {
    this.view.refit();
    this.moved();
    this.loop.picture();
  }

  private moved(): void {
    this.planner.renew();
    this.isCameraNews = true;
    this.loop.wake();
  }

  private anchorX(): number {
    return this.state.pointer?.x ?? this.surface.size.width / 2;
  }

  private setMeasure(area: Area | null): void {
    if (area !== this.state.measure) {
      this.state.measure = area;
      this.news.measure(area);
      this.loop.overlay();
    }
  }

  private readonly draw = (frame: Frame): Drawn => {
    const { now } = this.view;
    const { start, nsPerPx, scrollY } = now;
    const isMoving = this.view.advance(frame.elapsedMs, this.anchorX());
    const hasMoved = start !== now.start || nsPerPx !== now.nsPerPx || scrollY !== now.scrollY;
    const isPicture = frame.isPictureStale || hasMoved;
    if (isPicture || this.isHoverStale) {
      this.updateHover();
    }
    if (isPicture) {
      this.renderer.drawAll(now, frame.number, this.loop.budget.mostLabels(isMoving));
      this.state.store.trim(frame.number);
    } else if (frame.isOverlayStale) {
      this.renderer.drawOverlay(now, frame.number);
    }
    if (hasMoved) {
      this.planner.renew();
    }
    this.planner.tileRequest(
      frame.nowMs,
      isMoving,
      this.view,
      this.state,
      this.surface.size.height,
    );
    if (this.isCameraNews || hasMoved) {
      this.isCameraNews = false;
      const { pinned, rows } = this.state;
      const { size } = this.surface;
      const placed = this.placed.of(pinned.stack, rows.stack, now.scrollY, size.height);
      this.news.camera(this.view.camera(), placed, size);
    }
    this.news.tell();
    this.note.renew(this.state.store.tiles);
    return { isPicture, isMoving };
  };

  private updateHover(): void {
    this.isHoverStale = false;
    const { pointer } = this.state;
    const hit = pointer === null || this.gestures.isDragging ? null : this.hit(pointer);
    const before = this.state.hover;
    this.state.hover = hit;
    if (hit !== null || before !== null) {
      this.news.hover(hit, pointer?.x ?? 0, pointer?.y ?? 0);
      this.loop.overlay();
    }
  }

  private hit({ x, y }: { readonly x: number; readonly y: number }): Hit | null {
    return hitAt(this.renderer.scene(this.view.now, this.loop.number, 0), x, y);
  }

  private gestureHost() {
    return {
      scene: () => this.renderer.scene(this.view.now, this.loop.number, 0),
      mode: () => this.state.mode,
      area: () => this.state.area,
      panBy: (dx: number, dy: number) => {
        this.view.dragBy(dx, dy);
        this.moved();
        this.loop.picture();
      },
      moveBy: (dx: number, dy: number, isCoarse: boolean) => {
        if (isCoarse) {
          this.view.moveTarget(dx, dy);
        } else {
          this.view.dragBy(dx, dy);
          this.loop.picture();
        }
        this.moved();
      },
      zoomAt: (factor: number, x: number) => {
        this.view.scaleAt(factor, x);
        this.moved();
      },
      showSpan: (start: number, end: number) => this.show(start, end),
      setArea: (area: Area | null, isDone: boolean) => {
        this.setArea(area);
        this.news.area(area, isDone);
      },
      setMeasure: (area: Area | null) => this.setMeasure(area),
      setZoomBand: (area: Area | null) => {
        this.state.zoomBand = area;
        this.loop.overlay();
      },
      pointAt: (place: { x: number; y: number } | null) => {
        this.state.pointer = place;
        this.isHoverStale = true;
        this.loop.wake();
      },
      click: (x: number, y: number, isDouble: boolean) => {
        const arrow = arrowAt(this.renderer.paths, x, y);
        if (arrow !== null) {
          this.news.arrow(arrow);
        } else {
          this.news.select(this.hit({ x, y }), isDouble);
        }
      },
    };
  }
}
