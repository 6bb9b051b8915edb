/** What the shell is told: gathered during a frame, said once at its end. */
import type {
  Area,
  Camera,
  CanvasSize,
  Hit,
  PlacedRow,
  TimelineArrow,
  TimelineListener,
} from "./contract";

interface Gathered {
  camera?: {
    readonly camera: Camera;
    readonly rows: readonly PlacedRow[];
    readonly size: CanvasSize;
  };
  hover?: { readonly hit: Hit | null; readonly x: number; readonly y: number };
  area?: { readonly area: Area | null; readonly isDone: boolean };
  measure?: { readonly area: Area | null };
  pending?: number;
}

export class News {
  private gathered: Gathered = {};
  /** These are all told: none may be lost. */
  private calls: (() => void)[] = [];

  constructor(
    private readonly listener: TimelineListener,
    private readonly onNews: () => void,
  ) {}

  camera(camera: Camera, rows: readonly PlacedRow[], size: CanvasSize): void {
    this.gathered.camera = { camera, rows, size };
  }

  hover(hit: Hit | null, x: number, y: number): void {
    this.gathered.hover = { hit, x, y };
  }

  area(area: Area | null, isDone: boolean): void {
    this.gathered.area = { area, isDone };
    this.onNews();
  }

  measure(area: Area | null): void {
    this.gathered.measure = { area };
    this.onNews();
  }

  pending(count: number): void {
    this.gathered.pending = count;
    this.onNews();
  }

  select(hit: Hit | null, isDouble: boolean): void {
    this.calls.push(() => this.listener.onSelect(hit, isDouble));
    this.onNews();
  }

  arrow(arrow: TimelineArrow): void {
    this.calls.push(() => this.listener.onArrow(arrow));
    this.onNews();
  }

  problem(message: string): void {
    this.calls.push(() => this.listener.onProblem(message));
    this.onNews();
  }

  tell(): void {
    const { camera, hover, area, measure, pending } = this.gathered;
    const { calls, listener } = this;
    this.gathered = {};
    this.calls = [];
    if (camera !== undefined) {
      listener.onCamera(camera.camera, camera.rows, camera.size);
    }
    if (pending !== undefined) {
      listener.onLoading(pending);
    }
    if (area !== undefined) {
      listener.onArea(area.area, area.isDone);
    }
    if (measure !== undefined) {
      listener.onMeasure(measure.area);
    }
    if (hover !== undefined) {
      listener.onHover(hover.hit, hover.x, hover.y);
    }
    for (const call of calls) {
      call();
    }
  }
}
