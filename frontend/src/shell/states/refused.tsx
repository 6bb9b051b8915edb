/** The chosen file is no trace, or could not be read: what the server says, and what can be done. */

import { Problem, toProblem } from "../../api/problem";
import type { SpanInfo } from "../../api/types.gen";
import { harmless } from "../../base/text/shown_name";
import { CopyButton } from "../../components/controls/copy_button";
import { ViewLink } from "../../components/controls/view_link";
import { PlaceState } from "../../components/states/place_state";
import { problemDetails } from "../../components/states/problem_note";
import { Paragraph } from "../../components/text/prose";
import type { Choice } from "../../state/location/choice";
import { usePage } from "../../state/page_context";
import { useCatalogActions } from "../../state/queries";

function problemOf(span: SpanInfo): Problem {
  const unexplained = { kind: span.state, message: "The server gave no reason.", hint: "" };
  return new Problem(422, span.error ?? unexplained);
}

export function StateRefused({ choice }: { choice: Choice }) {
  const { catalog } = usePage();
  const { retry, isRetrying, problem: trouble } = useCatalogActions();
  const { span, run } = choice;
  const problem = problemOf(span);
  const file = catalog.files.find(
    (candidate) => candidate.logdir === run.logdir && candidate.path === span.file,
  );
  const isRefused = span.state === "refused";
  return (
    <PlaceState
      title={isRefused ? "This file is not a trace" : "This file could not be read"}
      actions={
        <>
          <button
            type="button"
            className="btn primary"
            disabled={isRetrying}
            onClick={() => retry(span.file, file?.logdir ?? run.logdir)}
          >
            Try again
          </button>
          <ViewLink stem="health" className="btn">
            All files and verdicts
          </ViewLink>
          <CopyButton
            className="quiet"
            text={() => `file: ${span.file}\nlogdir: ${run.logdir}\n${problemDetails(problem)}`}
          >
            Copy details for a report
          </CopyButton>
        </>
      }
    >
      <p>
        <code>{harmless(span.file)}</code>
      </p>
      <Paragraph text={problem.message} />
      <Paragraph text={problem.hint} />
      <p className="dim small">
        Reading starts again when the file changes. Nothing else in the logdir is affected.
      </p>
      {trouble === null ? null : (
        <p role="alert" className="bad">
          {toProblem(trouble).message}
        </p>
      )}
    </PlaceState>
  );
}
