/** Fetches the names that tiles speak of, page by page. */
import { NAME_PAGE } from "../names/name_table";
import type { Loader } from "./loader";
import type { SourceState } from "./sources";

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 10_000;
/** So many pages are fetched before anybody asks. */
const PAGES_AHEAD = 4;

export interface NamesListener {
  onNames(): void;
  onProblem(message: string): void;
}

interface Wanted {
  readonly source: SourceState;
  readonly page: number;
}

export class NamesFetcher {
  private readonly wanted: Wanted[] = [];
  private readonly asked = new WeakMap<SourceState, Set<number>>();
  private readonly controller = new AbortController();
  private isRunning = false;
  private delayMs = FIRST_DELAY_MS;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly loader: Loader,
    private readonly listener: NamesListener,
  ) {}

  /** A new source: its first names, which are likely to be seen. */
  begin(source: SourceState): void {
    this.want(
      source,
      Array.from({ length: PAGES_AHEAD }, (_, page) => page),
    );
  }

  want(source: SourceState, pages: readonly number[]): void {
    const asked = this.asked.get(source) ?? new Set();
    this.asked.set(source, asked);
    for (const page of pages) {
      if (!asked.has(page) && !source.names.hasPage(page)) {
        asked.add(page);
        this.wanted.push({ source, page });
      }
    }
    this.next();
  }

  /** A source is not shown any more. */
  forget(source: number): void {
    const kept = this.wanted.filter((each) => each.source.id !== source);
    this.wanted.splice(0, this.wanted.length, ...kept);
  }

  close(): void {
    clearTimeout(this.timer);
    this.wanted.length = 0;
    this.controller.abort();
  }

  private next(): void {
    const [wanted] = this.wanted;
    if (this.isRunning || wanted === undefined) {
      return;
    }
    this.isRunning = true;
    this.ask(wanted).then(
      (isDone) => this.proceed(wanted, isDone),
      () => {
        this.isRunning = false;
      },
    );
  }

  private proceed(wanted: Wanted, isDone: boolean): void {
    if (isDone) {
      const place = this.wanted.indexOf(wanted);
      if (place >= 0) {
        this.wanted.splice(place, 1);
      }
      this.delayMs = FIRST_DELAY_MS;
      this.isRunning = false;
      this.next();
      return;
    }
    this.timer = setTimeout(() => {
      this.isRunning = false;
      this.next();
    }, this.delayMs);
    this.delayMs = Math.min(LONGEST_DELAY_MS, this.delayMs * 2);
  }

  /** Whether the page need not be asked for again. */
  private async ask({ source, page }: Wanted): Promise<boolean> {
    const { base, query, nameCount } = source.source;
    const first = page * NAME_PAGE;
    const count = Math.min(NAME_PAGE, nameCount - first);
    const url = `${base}names?${query}&first=${first}&count=${count}`;
    const answer = await this.loader.load({ kind: "names", url }, this.controller.signal);
    if (answer.state === "names") {
      source.names.put(answer.names);
      this.listener.onNames();
      return true;
    }
    if (answer.state === "failed" && answer.isFinal) {
      this.listener.onProblem(answer.message);
      return true;
    }
    return false;
  }
}
