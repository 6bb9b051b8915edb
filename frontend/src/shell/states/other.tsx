/** The remaining states without figures: not available, not there, and trouble with the server. */
import { type Problem, toProblem } from "../../api/problem";
import { CopyButton } from "../../components/controls/copy_button";
import { ViewLink } from "../../components/controls/view_link";
import { PlaceState } from "../../components/states/place_state";
import { problemDetails } from "../../components/states/problem_note";
import { Paragraph, Prose } from "../../components/text/prose";
import { useAddress } from "../../state/host/environment";
import type { Absent } from "../../state/location/choice";
import { usePage } from "../../state/page_context";
import { ReloadButton } from "../banners";
import { Instead } from "./empty";

/** A view that this recording cannot fill. */
export function StateUnavailable({ title, reason }: { title: string; reason: string }) {
  const { titles, shown } = usePage();
  const views = shown?.trace?.views ?? [];
  // A file without an Overview is of one thing, which its own view shows.
  const isOfOne = views.some(
    ({ stem, unavailable }) => stem === "overview" && unavailable !== null,
  );
  const filled = views.filter(
    ({ stem, unavailable }) => isOfOne && unavailable === null && stem !== "health",
  );
  return (
    <PlaceState
      title={`${title} is not available in this run`}
      actions={
        <>
          {filled.map(({ stem }) => (
            <ViewLink key={stem} stem={stem} className="btn primary">
              Open {titles.get(stem)}
            </ViewLink>
          ))}
          <ViewLink stem="health" className={filled.length === 0 ? "btn primary" : "btn"}>
            How to record it better
          </ViewLink>
        </>
      }
    >
      <Paragraph text={reason} />
    </PlaceState>
  );
}

/** What the address names is not in the catalog: say so, and choose nothing in its place. */
export function StateAbsent({ absent }: { absent: Absent }) {
  const address = useAddress();
  const { catalog } = usePage();
  // A folder of that name may be there, with files that are no traces.
  const files = catalog.files.filter(
    ({ run, path }) => absent.what === "run" && run === null && path.startsWith(`${absent.name}/`),
  );
  const after = { run: { run: undefined, worker: undefined, span: undefined } };
  const patch = {
    run: after.run,
    worker: { worker: undefined, span: undefined },
    span: { span: undefined },
  }[absent.what];
  return (
    <PlaceState
      title={
        <>
          No {absent.what} <code>{absent.name}</code> here
        </>
      }
      actions={
        <button
          type="button"
          className="btn primary"
          onClick={() => address.navigate({ ...patch, steps: undefined })}
        >
          {absent.what === "run" ? "Open the newest run" : `Choose another ${absent.what}`}
        </button>
      }
    >
      {files.length === 0 ? (
        <p>
          The address names a {absent.what} that is not in the logdirs now. It was deleted or moved,
          or the link is from another server. It opens by itself when it appears.
        </p>
      ) : (
        <>
          <p>
            The folder of that name holds no trace. It opens by itself when one is written there.
          </p>
          <Instead files={files} total={files.length} />
        </>
      )}
    </PlaceState>
  );
}

interface TroubleProps {
  readonly error: Error;
  readonly again: () => void;
}

function titleOf(problem: Problem): string {
  if (problem.isLost) {
    return "The server does not answer";
  }
  if (problem.isOtherProgram) {
    return "The server and this page do not fit together";
  }
  return problem.status === 400
    ? "The address asks for something that is not there"
    : "That did not work";
}

/** The server says no to the whole page. */
export function StateTrouble({ error, again }: TroubleProps) {
  const problem = toProblem(error);
  return (
    <PlaceState
      title={titleOf(problem)}
      actions={
        <>
          {problem.isOtherProgram ? (
            <ReloadButton className="btn primary" />
          ) : (
            <button type="button" className="btn primary" onClick={again}>
              Try again
            </button>
          )}
          <CopyButton className="quiet" text={() => problemDetails(problem)}>
            Copy details for a report
          </CopyButton>
        </>
      }
    >
      <p role="alert">
        <Prose text={problem.message} />
      </p>
      <Paragraph text={problem.hint} />
    </PlaceState>
  );
}
