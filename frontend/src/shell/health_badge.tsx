/** What is doubtful about the shown trace, in one chip that leads to Health. */
import type { TraceInfo } from "../api/types.gen";
import { plural } from "../base/format";
import { CheckIcon, ErrorIcon, WarningIcon } from "../components/icons";
import { ViewLink } from "../components/view_link";
import type { Choice } from "../state/choice";

interface HealthBadgeProps {
  readonly choice: Choice | null;
  readonly trace: TraceInfo | null;
}

export function HealthBadge({ choice, trace }: HealthBadgeProps) {
  const state = choice?.span.state;
  if (state === "failed" || state === "refused") {
    return (
      <ViewLink stem="health" className="badge err">
        <ErrorIcon />
        not read
      </ViewLink>
    );
  }
  if (trace === null) {
    return null;
  }
  if (trace.note_count === 0) {
    return (
      <ViewLink stem="health" className="badge">
        <CheckIcon />
        no notes
      </ViewLink>
    );
  }
  const isError = trace.worst === "error";
  return (
    <ViewLink stem="health" className={isError ? "badge err" : "badge warn"}>
      {isError ? <ErrorIcon /> : <WarningIcon />}
      {plural(trace.note_count, "note")}
    </ViewLink>
  );
}
