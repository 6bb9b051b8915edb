/** The chosen trace is being read: how far, how long, and what can be opened meanwhile. */
import type { Catalog, ReadProgress, RunInfo, SpanInfo, WorkerInfo } from "../../api/types.gen";
import { bytes, count, roughly } from "../../base/text/format";
import { harmless } from "../../base/text/shown_name";
import { FirstFew } from "../../components/states/first_few";
import { PlaceState } from "../../components/states/place_state";
import { ReadBar } from "../../components/states/read_progress";
import { CheckIcon } from "../../components/text/icons";
import { Paragraph } from "../../components/text/prose";
import { useAddress, useValues } from "../../state/host/environment";
import { bestState, type Choice, isUnderWay, patchForWorker } from "../../state/location/choice";
import { usePage } from "../../state/page_context";
import { STATE_WORDS } from "./words";

const CHIPS_MAX = 32;
const BARS_MAX = 6;

interface ReadingSpan {
  readonly worker: WorkerInfo;
  readonly span: SpanInfo;
}

/** The chosen span, and what else of the run is under way. */
function unread({ run, span: chosen }: Choice): ReadingSpan[] {
  return run.workers.flatMap((worker) =>
    worker.spans
      .filter((span) => span === chosen || isUnderWay(span) || span.state === "waiting")
      .map((span) => ({ worker, span })),
  );
}

function amounts(progress: ReadProgress | null): string {
  if (progress === null || progress.bytes_done === 0) {
    return "";
  }
  return progress.events > 0 ? `${count(progress.events)} events` : bytes(progress.bytes_done);
}

const sizes = (progress: ReadProgress | null) =>
  progress === null ? "" : `${bytes(progress.bytes_done)} of ${bytes(progress.bytes_total)}`;

function FileProgress({ span }: { span: SpanInfo }) {
  const { progress } = span;
  const file = harmless(span.file);
  return (
    <li className="file-progress">
      <code className="clip" title={file}>
        {harmless(span.file.split("/").at(-1) ?? "")}
      </code>
      <ReadBar progress={progress} label={file} />
      <span className="ink2 clip">{progress?.phase || STATE_WORDS[span.state]}</span>
      <span className="num dim clip medium-only" title={sizes(progress)}>
        {amounts(progress)}
      </span>
    </li>
  );
}

function WorkerChips({ run }: { run: RunInfo }) {
  if (run.workers.length < 2) {
    return null;
  }
  return (
    <div className="row wrap chips">
      <FirstFew items={run.workers} most={CHIPS_MAX}>
        {(shown) =>
          shown.map((worker) => {
            const isReady = bestState(worker.spans) === "ready";
            return (
              <span key={worker.name} className={isReady ? "chip" : "chip hollow"}>
                {isReady ? <CheckIcon /> : null}
                {harmless(worker.name)}
                <span className="unseen">{isReady ? " ready" : " not ready"}</span>
              </span>
            );
          })
        }
      </FirstFew>
    </div>
  );
}

/** The longest of the times left, once one can be told. */
function timeLeft(spans: readonly ReadingSpan[]): string {
  const left = spans.flatMap(({ span }) => span.progress?.seconds_left ?? []);
  return left.length === 0 ? "" : `about ${roughly(Math.max(1, ...left))} left · `;
}

function title(choice: Choice, pending: readonly ReadingSpan[]): string {
  if (choice.span.state === "waiting") {
    return "Waiting for the file to be complete";
  }
  const { workers } = choice.run;
  if (workers.length === 1 || pending.length === 1) {
    return `Reading ${harmless(choice.worker.name)}`;
  }
  const left = new Set(pending.map(({ worker }) => worker.name)).size;
  return left > 1
    ? `Reading ${left} of ${workers.length} workers`
    : `Reading ${harmless(choice.worker.name)}`;
}

/** What the reader can expect; the server's own words where it has some. */
function explained(catalog: Catalog, { run, span }: Choice): string {
  if (span.state !== "waiting") {
    return "Finished recordings can be used now. This page opens when the file is read.";
  }
  const file = catalog.files.find(
    ({ path, logdir }) => path === span.file && logdir === run.logdir,
  );
  return (
    file?.reason || "It has a temporary name or still grows. It is read as soon as it is whole."
  );
}

export function StateReading({ choice }: { choice: Choice }) {
  const { catalog } = usePage();
  const address = useAddress();
  const values = useValues();
  const pending = unread(choice);
  // The chosen one first: it is what the reader waits for.
  const sorted = [...pending].sort(
    (a, b) => Number(b.span === choice.span) - Number(a.span === choice.span),
  );
  const ready = choice.run.workers.find((worker) => bestState(worker.spans) === "ready");
  return (
    <PlaceState
      title={title(choice, pending)}
      actions={
        <>
          {ready === undefined ? null : (
            <button
              type="button"
              className="btn primary"
              onClick={() =>
                address.navigate({ ...patchForWorker(ready, values), span: undefined })
              }
            >
              Open {ready.name} now
            </button>
          )}
          <span className="dim">{timeLeft(pending)}read once, cached after</span>
        </>
      }
    >
      <Paragraph text={explained(catalog, choice)} />
      <WorkerChips run={choice.run} />
      <FirstFew items={sorted} most={BARS_MAX}>
        {(shown) => (
          <ul className="stack file-progresses">
            {shown.map(({ worker, span }) => (
              <FileProgress key={`${worker.name} ${span.key}`} span={span} />
            ))}
          </ul>
        )}
      </FirstFew>
    </PlaceState>
  );
}
