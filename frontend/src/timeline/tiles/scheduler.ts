/**
 * Turns the tileRequests of a frame into requests: at most two at a time, the newest tileRequests first, what
 * nobody wants any more aborted, what failed asked again after a while.
 */
import { type Batch, isGranted, nextBatch, requestKey, type TileRequest } from "./batches";
import type { LoadAnswer, Loader } from "./loader";
import type { SourceState } from "./sources";
import type { AnyTile } from "./store";

const MOST_RUNNING = 2;
const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 10_000;

export interface SchedulerListener {
  onTiles(source: SourceState, tiles: readonly AnyTile[], namePages: readonly number[]): void;
  onProblem(message: string): void;
  /** How many tiles in view are missing. */
  onPending(count: number): void;
}

interface Running {
  readonly batch: Batch;
  readonly keys: ReadonlySet<string>;
  readonly controller: AbortController;
}

/** After a failure, or while the server still reads: when to ask again. */
interface Delay {
  ms: number;
  until: number;
}

const MISSING = "Part of the timeline is missing: the server is busy. Move or zoom to ask again.";

export class Scheduler {
  requests = 0;
  private tileRequests: readonly TileRequest[] = [];
  private readonly running = new Set<Running>();
  private readonly refused = new Set<string>();
  private readonly delays = new Map<number, Delay>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private told = "";
  private pending = 0;
  private isClosed = false;

  constructor(
    private readonly loader: Loader,
    private readonly listener: SchedulerListener,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Replaces all earlier tileRequests; the first is the most urgent. */
  tileRequest(tileRequests: readonly TileRequest[]): void {
    this.tileRequests = tileRequests;
    this.abortUseless();
    this.pump();
  }

  /** A source is another trace, or another layout, now. */
  forget(source: number): void {
    for (const running of this.running) {
      if (running.batch.source.id === source) {
        this.abort(running);
      }
    }
    this.refused.clear();
    this.delays.delete(source);
    this.told = "";
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
    for (const running of this.running) {
      this.abort(running);
    }
    this.loader.close();
  }

  private abort(running: Running): void {
    this.running.delete(running);
    running.controller.abort();
  }

  /** A request is of use while it grants a tileRequest; one that waits in its place is worth more. */
  private abortUseless(): void {
    if (!this.tileRequests.some((tileRequest) => tileRequest.rank === 0)) {
      return;
    }
    const wanted = new Set(this.tileRequests.map(requestKey));
    for (const running of this.running) {
      if (![...running.keys].some((key) => wanted.has(key))) {
        this.abort(running);
      }
    }
  }

  private pump(): void {
    if (this.isClosed) {
      return;
    }
    const now = this.now();
    const underway = new Set([...this.running].flatMap(({ keys }) => [...keys]));
    let open = this.tileRequests.filter((tileRequest) => {
      const key = requestKey(tileRequest);
      return !underway.has(key) && !this.refused.has(key);
    });
    this.tellPending(open, underway);
    open = open.filter(
      (tileRequest) => (this.delays.get(tileRequest.source.id)?.until ?? 0) <= now,
    );
    while (this.running.size < MOST_RUNNING) {
      const batch = nextBatch(open);
      if (batch === null) {
        break;
      }
      const granted = new Set(batch.tileRequests);
      open = open.filter((tileRequest) => !granted.has(tileRequest));
      this.start(batch);
    }
    this.wakeUp(now);
  }

  private tellPending(open: readonly TileRequest[], underway: ReadonlySet<string>): void {
    const seen = open.filter((tileRequest) => tileRequest.rank === 0).length;
    const asked = this.tileRequests.filter(
      (tileRequest) => tileRequest.rank === 0 && underway.has(requestKey(tileRequest)),
    );
    const pending = seen + asked.length;
    if (pending !== this.pending) {
      this.pending = pending;
      this.listener.onPending(pending);
    }
  }

  private start(batch: Batch): void {
    const running: Running = {
      batch,
      keys: new Set(batch.tileRequests.map(requestKey)),
      controller: new AbortController(),
    };
    this.running.add(running);
    this.requests += 1;
    this.loader.load({ kind: batch.kind, url: batch.url }, running.controller.signal).then(
      (answer) => this.finish(running, answer),
      () => this.running.delete(running),
    );
  }

  private finish(running: Running, answer: LoadAnswer): void {
    if (!this.running.delete(running) || this.isClosed) {
      return;
    }
    const { source, tileRequests } = running.batch;
    if (answer.state === "tiles") {
      this.delays.delete(source.id);
      this.accept(running.batch, answer.tiles, answer.namePages);
    } else if (answer.state === "later") {
      this.postpone(source.id);
    } else if (answer.state === "failed") {
      this.tell(answer.message);
      if (answer.isFinal) {
        for (const tileRequest of tileRequests) {
          this.refused.add(requestKey(tileRequest));
        }
      } else {
        this.postpone(source.id);
      }
    }
    this.tileRequests = this.tileRequests.filter((tileRequest) => !isGranted(tileRequest));
    this.pump();
  }

  private accept(batch: Batch, tiles: readonly AnyTile[], namePages: readonly number[]): void {
    this.listener.onTiles(batch.source, tiles, namePages);
    const missing = batch.tileRequests.filter((tileRequest) => !isGranted(tileRequest));
    if (missing.length > 0) {
      this.tell(MISSING);
      for (const tileRequest of missing) {
        this.refused.add(requestKey(tileRequest));
      }
    } else {
      this.told = "";
    }
  }

  private tell(message: string): void {
    if (message !== this.told) {
      this.told = message;
      this.listener.onProblem(message);
    }
  }

  private postpone(source: number): void {
    const ms = Math.min(LONGEST_DELAY_MS, (this.delays.get(source)?.ms ?? FIRST_DELAY_MS / 2) * 2);
    this.delays.set(source, { ms, until: this.now() + ms });
  }

  private wakeUp(now: number): void {
    clearTimeout(this.timer);
    const waits = [...this.delays.values()].map(({ until }) => until - now).filter((ms) => ms > 0);
    if (waits.length > 0 && this.tileRequests.length > 0) {
      this.timer = setTimeout(() => this.pump(), Math.min(...waits) + 1);
    }
  }
}
