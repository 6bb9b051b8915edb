/** An error where its figures would be: the message, the hint, and a way to try again. */
import { type Problem, toProblem } from "../../api/problem";
import { CopyButton } from "../controls/copy_button";
import { ErrorIcon } from "../text/icons";
import { Paragraph, Prose } from "../text/prose";

interface ProblemNoteProps {
  readonly problem: Error;
  readonly again: () => unknown;
}

/** What somebody needs who is to help. */
export function problemDetails(problem: Problem): string {
  const lines = [
    `kind: ${problem.kind}`,
    `status: ${problem.status}`,
    `message: ${problem.message}`,
    `hint: ${problem.hint}`,
    `page: ${window.location.href}`,
  ];
  return lines.join("\n");
}

export function ProblemNote({ problem: error, again }: ProblemNoteProps) {
  const problem = toProblem(error);
  if (problem.isNotStored) {
    return (
      <div className="stack problem" role="note">
        <p className="hint">
          <Prose text={problem.message} /> <Prose text={problem.hint} />
        </p>
      </div>
    );
  }
  return (
    <div className="stack problem" role="alert">
      <p className="row">
        <span className="bad" aria-hidden="true">
          <ErrorIcon />
        </span>
        <span>
          <Prose text={problem.message} />
        </span>
      </p>
      <Paragraph className="ink2 small" text={problem.hint} />
      <div className="row wrap">
        {problem.kind === "not_found" ? null : (
          <button type="button" className="btn small" onClick={() => again()}>
            Try again
          </button>
        )}
        <CopyButton className="quiet small" text={() => problemDetails(problem)}>
          Copy details
        </CopyButton>
      </div>
    </div>
  );
}
