/** No trace yet: what was looked at, what was found instead, and how to record one. */
import type { Catalog, FileInfo } from "../../api/types.gen";
import { ago, plural } from "../../base/text/format";
import { CopyButton } from "../../components/controls/copy_button";
import { ViewLink } from "../../components/controls/view_link";
import { FirstFew } from "../../components/states/first_few";
import { PlaceState } from "../../components/states/place_state";
import { Prose } from "../../components/text/prose";
import { Snippet, toLines } from "../../components/text/snippet";
import { usePage } from "../../state/page_context";
import { useCatalogActions } from "../../state/queries";
import { useNow } from "../../state/timing";

const NAMED_MAX = 5;
/** The three lines of the recipe that a training loop without profiling lacks. */
const OURS = /kinetoscope|on_trace_ready|prof\.step\(\)/;

function Logdirs({ logdirs }: { logdirs: readonly string[] }) {
  if (logdirs.length > 3) {
    return <>{logdirs.length} logdirs</>;
  }
  return logdirs.map((logdir, place) => (
    <span key={logdir}>
      {place === 0 ? "" : place === logdirs.length - 1 ? " and " : ", "}
      <code>{logdir}</code>
    </span>
  ));
}

/** Files that are there but no trace, each with the reason. */
export function Instead({ files, total }: { files: readonly FileInfo[]; total: number }) {
  if (files.length === 0) {
    return null;
  }
  return (
    <FirstFew items={files} total={total} most={NAMED_MAX}>
      {(shown) => (
        <ul className="stack small">
          {shown.map((file) => (
            <li key={`${file.logdir} ${file.path}`}>
              <code>{file.path}</code> <span className="strong">{file.verdict}</span>{" "}
              <span className="dim">
                <Prose text={file.reason} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </FirstFew>
  );
}

function Looked({ catalog }: { catalog: Catalog }) {
  const now = useNow();
  const seen = plural(catalog.files_total, "file");
  const when =
    catalog.looked === 0 ? "not looked yet" : `looked ${ago(Math.max(0, now - catalog.looked))}`;
  return (
    <span className="dim" aria-live="off">
      {catalog.scanning ? "looking now" : when} · {seen} seen
    </span>
  );
}

function Title({ catalog }: { catalog: Catalog }) {
  if (catalog.logdirs.length === 0) {
    return <>No logdir was given</>;
  }
  if (catalog.scanning && catalog.looked === 0) {
    return (
      <>
        Looking for traces in <Logdirs logdirs={catalog.logdirs} />
      </>
    );
  }
  return (
    <>
      No traces in <Logdirs logdirs={catalog.logdirs} /> yet
    </>
  );
}

/** Whether a trace that is written there would be found: not where each logdir lacks its library. */
const isReadable = ({ logdirs, problems }: Catalog): boolean =>
  problems.filter((problem) => problem.kind === "remote_extra").length < logdirs.length;

export function StateEmpty() {
  const { catalog, info } = usePage();
  const { look, isLooking } = useCatalogActions();
  return (
    <PlaceState
      title={<Title catalog={catalog} />}
      actions={
        <>
          <CopyButton className="primary" text={() => info.recipe} />
          <button type="button" className="btn" onClick={look} disabled={isLooking}>
            Look again
          </button>
          {catalog.files.length > 0 ? (
            <ViewLink stem="health" className="btn">
              All files and verdicts
            </ViewLink>
          ) : null}
          <Looked catalog={catalog} />
        </>
      }
    >
      {catalog.problems.map((problem) => (
        <p key={problem.message} role="alert">
          <span className="bad">
            {problem.kind === "logdir_missing" ? "Not found. " : "Problem. "}
          </span>
          <Prose text={problem.message} /> <Prose text={problem.hint} />
        </p>
      ))}
      <Instead files={catalog.files} total={catalog.files_total} />
      <p>
        {isReadable(catalog)
          ? "This page fills by itself as soon as a trace is written there. "
          : ""}
        Three lines in your training loop are enough:
      </p>
      <Snippet lines={toLines(info.recipe, OURS)} hasCopy={false} />
    </PlaceState>
  );
}
