/** What is drawn of an answer: its problem, what stands there while it is on its way, or itself. */
import type { ReactNode } from "react";
import type { ViewStem } from "../../api/routes";
import type { ReadProgress, ViewAnswers, ViewQueries } from "../../api/types.gen";
import { harmless } from "../../base/text/shown_name";
import { useView } from "../../state/queries";
import { useLasting } from "../../state/timing";
import { ProblemNote } from "./problem_note";
import { progressWords, ReadBar } from "./read_progress";

interface AnsweredProps<T> {
  readonly state: {
    readonly data: T | undefined;
    readonly problem: Error | null;
    /** How far the server is with what the answer is taken from. */
    readonly reading?: ReadProgress | null;
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
  const { data, problem, reading = null, again } = state;
  if (problem !== null) {
    return (
      <div className="stack">
        <ProblemNote problem={problem} again={again} />
        {remedy}
      </div>
    );
  }
  if (data !== undefined) {
    return children(data);
  }
  const words = reading === null ? "Reading…" : `Reading: ${progressWords(reading)}`;
  return waiting ?? <p className="empty dim">{words}</p>;
}

const TITLES: Readonly<Record<string, string>> = { preparing: "Preparing the view" };

/** In the place of a view: a recording is being read, or prepared for this view, or it is computed. */
function Reading({ progress }: { progress: ReadProgress }) {
  const file = harmless(progress.file.split("/").at(-1) ?? "");
  const { phase } = progress;
  const isComputed = progress.file === "" && progress.bytes_total === 0;
  const computed = `${phase.charAt(0).toUpperCase()}${phase.slice(1)}`;
  const words = progressWords(isComputed ? { ...progress, phase: "" } : progress);
  return (
    <section className="stack" aria-live="polite">
      <h1>{TITLES[phase] ?? (isComputed ? computed : "Reading the trace")}</h1>
      <ReadBar progress={progress} label={file === "" ? phase : file} />
      <p className="ink2">
        {file === "" ? null : (
          <>
            <code title={harmless(progress.file, 400)}>{file}</code>{" "}
          </>
        )}
        {words}
      </p>
      {phase === "preparing" ? (
        <p className="dim small">This is done once for each recording.</p>
      ) : null}
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
  /** What stands there while a recording is read, where more is to be said than how far that is. */
  readonly reading?: (progress: ReadProgress) => ReactNode;
  readonly remedy?: ReactNode;
  /** `isOld`: the answer is of an earlier question, and the new one is on its way. */
  readonly children: (data: ViewAnswers[S], isOld: boolean) => ReactNode;
}

/** The answer of a view for the shown trace. */
export function ViewAnswer<S extends ViewStem>(props: ViewAnswerProps<S>) {
  const { stem, query, waiting, remedy, children } = props;
  const drawReading = props.reading ?? ((progress) => <Reading progress={progress} />);
  const { reading, isOld, ...state } = useView(stem, query);
  return (
    <Answered
      state={state}
      waiting={reading === null ? waiting : drawReading(reading)}
      remedy={remedy}
    >
      {(data) => children(data, isOld)}
    </Answered>
  );
}
