/** The main part of the page: the chosen view, or why there is nothing of it to see. */
import { Boundary } from "../components/boundary";
import { useLasting } from "../state/timing";
import type { PageView } from "../views";
import { StateEmpty } from "./state_empty";
import { StateAbsent, StateTrouble, StateUnavailable } from "./state_other";
import { StateReading } from "./state_reading";
import { StateRefused } from "./state_refused";
import type { Selection } from "./use_selection";

interface StageProps {
  readonly view: PageView;
  readonly title: string;
  readonly selection: Selection;
}

function Opening() {
  return useLasting(true) ? <p className="dim">Opening…</p> : null;
}

export function Stage({ view, title, selection }: StageProps) {
  const { Content } = view;
  const content = (
    <Boundary key={view.stem}>
      <Content fallback={<Opening />} />
    </Boundary>
  );
  if (!view.needsTrace) {
    return content;
  }
  const { resolved, choice, pinned, shown, problem, again } = selection;
  if (resolved.state === "absent") {
    return <StateAbsent absent={resolved.absent} />;
  }
  if (choice === null) {
    return <StateEmpty />;
  }
  if (pinned.digest === "") {
    const isUnreadable = choice.span.state === "refused" || choice.span.state === "failed";
    return isUnreadable ? <StateRefused choice={choice} /> : <StateReading choice={choice} />;
  }
  const unavailable = shown?.trace?.views.find(({ stem }) => stem === view.stem)?.unavailable;
  if (typeof unavailable === "string") {
    return <StateUnavailable title={title} reason={unavailable} />;
  }
  if (selection.isSettling) {
    return <Opening />;
  }
  return problem === null ? content : <StateTrouble error={problem} again={again} />;
}
