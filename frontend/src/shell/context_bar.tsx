import { useState } from "react";
import { toProblem } from "../api/problem";
import { getReport, type TraceKey } from "../api/routes";
import type { Catalog, TraceInfo } from "../api/types.gen";
import { saveBlob } from "../base/save";
import { plural } from "../base/text/format";
import { CopyButton } from "../components/controls/copy_button";
import { IconButton } from "../components/controls/icon_button";
import { ViewLink } from "../components/controls/view_link";
import {
  CheckIcon,
  ErrorIcon,
  Glyph,
  LinkIcon,
  SaveIcon,
  SearchIcon,
  ThemeIcon,
  WarningIcon,
} from "../components/text/icons";
import { useEnvironment, useThemeName, useValues } from "../state/host/environment";
import { type Choice, choiceValues } from "../state/location/choice";
import type { Pinned } from "../state/location/pinned";
import { usePage } from "../state/page_context";
import { RunPicker, SpanPicker, WorkerPicker } from "./pickers";
import { StepPicker } from "./steps/step_picker";

/** What is doubtful about the shown trace, in one chip that leads to Health. */

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
        no warnings
      </ViewLink>
    );
  }
  const isError = trace.worst === "error";
  return (
    <ViewLink stem="health" className={isError ? "badge err" : "badge warn"}>
      {isError ? <ErrorIcon /> : <WarningIcon />}
      {plural(trace.note_count, isError ? "problem" : "warning")}
    </ViewLink>
  );
}

/** The first line of the page: what is shown, how sound it is, and the tools that every view shares. */

interface ContextBarProps {
  readonly catalog: Catalog;
  readonly choice: Choice | null;
  readonly trace: TraceInfo | null;
  readonly pinned: Pinned;
  readonly view: string;
  readonly onSearch: () => void;
  readonly onHelp: () => void;
}

function ThemeButton() {
  const { theme } = useEnvironment();
  const other = useThemeName() === "dark" ? "light" : "dark";
  if (theme.isHosted) {
    return null;
  }
  return (
    <IconButton label={`Use the ${other} theme`} onClick={theme.toggle}>
      <ThemeIcon />
    </IconButton>
  );
}

const AGAIN_MS = 500;

/** What a recording is as one file; asks again while the server still reads it. */
async function reportOf(key: TraceKey, steps: string) {
  for (;;) {
    const answer = await getReport(key, steps);
    if (answer.state === "ready") {
      return answer.data;
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

/** All views as a file that opens without a server, for someone who has neither. */
function SaveButton() {
  const { info, shown } = usePage();
  const { steps } = useValues();
  const [state, setState] = useState("idle");
  if (!info.saves || shown === null || shown.digest === "") {
    return null;
  }
  const save = async () => {
    setState("making");
    try {
      const { blob, name } = await reportOf(shown.key, steps ?? "");
      saveBlob(blob, name);
      setState("idle");
    } catch (thrown) {
      setState(toProblem(thrown).message);
    }
  };
  const words = state === "making" ? "Making the file…" : state === "idle" ? "" : state;
  return (
    <>
      <IconButton label="Save as one file" onClick={state === "making" ? () => undefined : save}>
        <SaveIcon />
      </IconButton>
      <span className={words === "" ? "unseen" : "hint"} role="status">
        {words}
      </span>
    </>
  );
}

/** Quiet, and only when asked: the figures do not change under the reader's hand. */
function StaleChip({ pinned }: { pinned: Pinned }) {
  if (!pinned.isStale) {
    return null;
  }
  return (
    <button type="button" className="badge new" onClick={pinned.accept}>
      new data, reload
    </button>
  );
}

export function ContextBar(props: ContextBarProps) {
  const { catalog, choice, trace, pinned, view, onSearch, onHelp } = props;
  const { address, host } = useEnvironment();
  return (
    <div className="ctx">
      {host.hasParent ? null : (
        <span className="mark">
          <Glyph />
          <span className="medium-only">kinetoscope</span>
        </span>
      )}
      {catalog.runs.length === 0 ? (
        <span className="dim">no run yet</span>
      ) : (
        <RunPicker catalog={catalog} chosen={choice?.run.name ?? null} />
      )}
      {choice === null ? null : (
        <>
          <span className="sep wide-only">/</span>
          <WorkerPicker catalog={catalog} choice={choice} />
          <SpanPicker choice={choice} />
        </>
      )}
      {trace === null ? null : (
        <>
          <span className="sep wide-only">/</span>
          <StepPicker trace={trace} />
        </>
      )}
      <span className="grow" />
      <StaleChip pinned={pinned} />
      <button
        type="button"
        className="btn quiet"
        title="Search or jump (Ctrl K)"
        onClick={onSearch}
      >
        <SearchIcon />
        <span className="dim wide-only">Search or jump</span>{" "}
        <kbd className="wide-only">Ctrl K</kbd>
      </button>
      <HealthBadge choice={choice} trace={trace} />
      <CopyButton
        className="quiet icon copy-link"
        title="Copy link to this view (L)"
        text={() => address.href({ view, ...(choice === null ? {} : choiceValues(choice)) })}
      >
        <LinkIcon />
        <span className="unseen">Copy link to this view</span>
      </CopyButton>
      <SaveButton />
      <ThemeButton />
      <IconButton className="wide-only" label="Keys and help" keys="?" onClick={onHelp}>
        ?
      </IconButton>
    </div>
  );
}
