/** Lines above the page for what concerns all of it. */
import type { Problem } from "../api/problem";
import { aboutReport, isReport } from "../api/stored";
import type { Catalog } from "../api/types.gen";
import { FirstFew } from "../components/states/first_few";
import { WarningIcon } from "../components/text/icons";
import { Prose } from "../components/text/prose";
import { useEnvironment } from "../state/host/environment";

interface LostProps {
  readonly isRetrying: boolean;
  readonly onRetry: () => void;
}

/** The server is gone; what was fetched stays on the screen. */
export function LostBanner({ isRetrying, onRetry }: LostProps) {
  return (
    <div className="banner err" role="alert">
      <WarningIcon />
      <span className="grow">
        The connection to the server is lost. What is shown stays; trying again every 3 seconds.
      </span>
      <button type="button" className="btn small" onClick={onRetry} disabled={isRetrying}>
        Try now
      </button>
    </div>
  );
}

/** Loads the page anew, in TensorBoard with the frame around it. */
export function ReloadButton({ className }: { className: string }) {
  const { host } = useEnvironment();
  return (
    <button type="button" className={className} onClick={() => host.window.location.reload()}>
      Reload the page
    </button>
  );
}

/** The server has become another program; what is shown is of the one before, and still right. */
export function OtherProgramBanner({ problem }: { problem: Problem }) {
  return (
    <div className="banner" role="status">
      <WarningIcon />
      <span className="grow">
        <Prose text={problem.message} /> <Prose text={problem.hint} /> What is shown stays.
      </span>
      <ReloadButton className="btn small" />
    </div>
  );
}

/** Of a report: what it is, and what it does not hold. */
export const ReportBanner = () =>
  isReport ? (
    <aside className="banner note" aria-label="About this report">
      <span className="grow">
        <Prose text={aboutReport} />
      </span>
    </aside>
  ) : null;

/** A logdir that does not exist or cannot be read, while others can. */
export function ProblemBanner({ catalog }: { catalog: Catalog }) {
  if (catalog.problems.length === 0 || catalog.runs.length === 0) {
    return null;
  }
  return (
    <div className="banner" role="status">
      <WarningIcon />
      <span className="grow">
        <FirstFew items={catalog.problems} most={1}>
          {(shown) =>
            shown.map(({ message, hint }) => (
              <span key={message}>
                <Prose text={message} /> <Prose text={hint} />{" "}
              </span>
            ))
          }
        </FirstFew>
      </span>
    </div>
  );
}
