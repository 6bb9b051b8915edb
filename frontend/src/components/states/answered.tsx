/** What is drawn of an answer: its problem, what stands there while it is on its way, or itself. */
import type { ReactNode } from "react";
import type { ViewStem } from "../../api/routes";
import type { ReadProgress, ViewAnswers, ViewQueries } from "../../api/types.gen";
import { bytes } from "../../base/text/format";
import { useView } from "../../state/queries";
import { useLasting } from "../../state/timing";
import { ProblemNote } from "./problem_note";

interface AnsweredProps<T> {
  readonly state: {
    readonly data: T | undefined;
    readonly problem: Error | null;
    readonly again: () => unknown;
  };
  /** What stands there while nothing has come. */
  readonly waiting?: ReactNode;
  /** What may help against a problem, beside trying again. */
  readonly remedy?: ReactNode;
  readonly children: (data: T) => ReactNode;
}

/** An answer of a part of a view. */
export function Answered<T>({ state, waiting, remedy, children }: AnsweredProps<T>) {
  const { data, problem, again } = state;
  if (problem !== null) {
    return (
      <div className="stack">
        <ProblemNote problem={problem} again={again} />
        {remedy}
      </div>
    );
  }
  return data === undefined ? (waiting ?? <p className="empty dim">Reading…</p>) : children(data);
}

/** In the place of a view: its trace is being read again. */
function Reading({ progress }: { progress: ReadProgress }) {
  const { phase, bytes_done, bytes_total } = progress;
  const ratio = bytes_total === 0 ? 0 : Math.min(1, bytes_done / bytes_total);
  return (
    <section className="stack" aria-live="polite">
      <h1>Reading the trace</h1>
      <div className="bar" aria-hidden="true">
        <i style={{ width: `${ratio * 100}%` }} />
      </div>
      <p className="ink2">
        {phase} · {bytes(bytes_done)} of {bytes(bytes_total)}
      </p>
    </section>
  );
}

/** Grey boxes of these heights in px: the shape of a view that takes its time. */
export function Skeleton({ heights }: { heights: readonly number[] }) {
  if (!useLasting(true)) {
    return null;
  }
  return (
    <div className="stack" aria-busy="true">
      <span className="unseen">Loading</span>
      {heights.map((height) => (
        <div key={height} className="skeleton" style={{ height }} />
      ))}
    </div>
  );
}

interface ViewAnswerProps<S extends ViewStem> {
  readonly stem: S;
  readonly query: ViewQueries[S];
  readonly waiting: ReactNode;
  readonly remedy?: ReactNode;
  /** `isOld`: the answer is of an earlier question, and the new one is on its way. */
  readonly children: (data: ViewAnswers[S], isOld: boolean) => ReactNode;
}

/** The answer of a view for the shown trace. */
export function ViewAnswer<S extends ViewStem>(props: ViewAnswerProps<S>) {
  const { stem, query, waiting, remedy, children } = props;
  const { reading, isOld, ...state } = useView(stem, query);
  return (
    <Answered
      state={state}
      waiting={reading === null ? waiting : <Reading progress={reading} />}
      remedy={remedy}
    >
      {(data) => children(data, isOld)}
    </Answered>
  );
}
