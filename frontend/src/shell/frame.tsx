import { type ReactNode, useEffect, useRef, useState } from "react";
import type { Answer } from "../api/client";
import { isReport } from "../api/stored";
import type { Catalog, Info, TraceInfo, ViewInfo } from "../api/types.gen";
import { copyText } from "../base/clipboard";
import { chosenIndexes, currentParameter, neighbour } from "../base/steps";
import { ViewLink, viewPatch } from "../components/controls/view_link";
import { Modal } from "../components/overlays/modal";
import { Boundary } from "../components/states/boundary";
import { type Command, useCommands } from "../state/commands";
import { useAddress, useEnvironment, useValues } from "../state/host/environment";
import { type KeyMap, useKeys } from "../state/keys";
import { type Choice, choiceValues, type Resolved, resolveChoice } from "../state/location/choice";
import { type Pinned, usePinned } from "../state/location/pinned";
import { type Page, PageContext, type Shown } from "../state/page_context";
import { askAgain } from "../state/parts";
import { useFindingCount, useTrace } from "../state/queries";
import { useLasting } from "../state/timing";
import { type PageView, VIEWS } from "../views";
import { ProblemBanner, ReportBanner } from "./banners";
import { ContextBar } from "./context_bar";
import { Palette } from "./palette";
import { StateEmpty } from "./states/empty";
import { StateAbsent, StateTrouble, StateUnavailable } from "./states/other";
import { StateReading } from "./states/reading";
import { StateRefused } from "./states/refused";

/** The keys of the page, and where the numbers come from. */

interface HelpProps {
  readonly info: Info;
  readonly onClose: () => void;
}

function Keys({ keys, children }: { keys: readonly string[]; children: ReactNode }) {
  return (
    <>
      <dt>
        {keys.map((key) => (
          <kbd key={key}>{key}</kbd>
        ))}
      </dt>
      <dd>{children}</dd>
    </>
  );
}

/** Commands with a key, by their headline. */
function byGroup(commands: readonly Command[]): readonly (readonly [string, readonly Command[]])[] {
  const groups = new Map<string, Command[]>();
  for (const command of commands.filter(({ keys }) => keys.length > 0)) {
    groups.set(command.group, [...(groups.get(command.group) ?? []), command]);
  }
  return [...groups];
}

export function Help({ info, onClose }: HelpProps) {
  const groups = byGroup(useCommands());
  return (
    <Modal title="Keys" width={groups.length > 0 ? 1180 : 520} onClose={onClose}>
      <div className={groups.length > 0 ? "key-groups" : ""}>
        {groups.map(([group, commands]) => (
          <section key={group}>
            <h3>{group}</h3>
            <dl className="keys wide">
              {commands.map(({ id, title, keys }) => (
                <Keys key={id} keys={keys}>
                  {title}
                </Keys>
              ))}
            </dl>
          </section>
        ))}
      </div>
      {groups.length > 0 ? <h3>Everywhere</h3> : null}
      <dl className="keys">
        {info.views.map(({ stem, title, key, question }) => (
          <Keys key={stem} keys={["g", key]}>
            {title} <span className="dim">{question}</span>
          </Keys>
        ))}
        <Keys keys={["Ctrl K"]}>Search or jump</Keys>
        {groups.length > 0 ? null : <Keys keys={["[", "]"]}>Previous and next step</Keys>}
        <Keys keys={["Esc"]}>Clear the innermost choice: menu, filter, steps</Keys>
        <Keys keys={["/"]}>Filter in place</Keys>
        <Keys keys={["L"]}>Copy a link to just this view</Keys>
        <Keys keys={["?"]}>This list</Keys>
      </dl>
      <p className="hint">
        In the step strip: click for one step, drag or Shift for a range, ← → to walk.
      </p>
      <p className="hint">
        {isReport ? null : (
          <>
            <a href="docs/README.md" target="_blank" rel="noreferrer">
              Documentation
            </a>
            {" · "}
          </>
        )}
        kinetoscope {info.release}, {info.reader} reader. Nothing leaves this machine.
      </p>
    </Modal>
  );
}

/** The main part of the page: the chosen view, or why there is nothing of it to see. */

interface ViewAreaProps {
  readonly view: PageView;
  readonly title: string;
  readonly selection: Selection;
}

function Opening() {
  return useLasting(true) ? <p className="dim">Opening…</p> : null;
}

export function ViewArea({ view, title, selection }: ViewAreaProps) {
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

/** The views as tabs, in the order of the server's registry. */

interface TabsProps {
  readonly views: readonly ViewInfo[];
  readonly current: string;
  readonly trace: TraceInfo | null;
}

export function Tabs({ views, current, trace }: TabsProps) {
  const list = useRef<HTMLElement>(null);
  // Of several ranks no other answer knows it, and none waits for their comparison.
  const findings = useFindingCount();
  const place = views.findIndex(({ stem }) => stem === current);
  // Where not all have room the chosen one is seen.
  // biome-ignore lint/correctness/useExhaustiveDependencies: what a trace lacks stands beside the titles
  useEffect(() => {
    list.current?.children[place]?.scrollIntoView?.({ block: "nearest", inline: "nearest" });
  }, [place, trace]);
  return (
    <nav ref={list} className="tabs" aria-label="Views">
      {views.map(({ stem, title, key, question }) => {
        const state = trace?.views.find((candidate) => candidate.stem === stem);
        const reason = state?.unavailable ?? null;
        const badge = (stem === "overview" ? findings : null) ?? state?.badge ?? null;
        return (
          <ViewLink
            key={stem}
            stem={stem}
            className={reason === null ? "tab" : "tab na"}
            isCurrent={stem === current}
            title={reason ?? `${question} (g ${key})`}
          >
            {title}
            {reason !== null ? <sup>n/a</sup> : null}
            {reason === null && badge !== null && badge > 0 ? <sup>{badge}</sup> : null}
          </ViewLink>
        );
      })}
    </nav>
  );
}

/** The keys that work everywhere. */

interface PageKeys {
  readonly views: readonly ViewInfo[];
  readonly view: string;
  readonly choice: Choice | null;
  readonly trace: TraceInfo | null;
  readonly openPalette: () => void;
  readonly openHelp: () => void;
  readonly say: (words: string) => void;
}

function focusFilter(): void {
  document.querySelector<HTMLInputElement>("[data-filter]")?.focus();
}

export function usePageKeys(page: PageKeys): void {
  const address = useAddress();
  const { views, view, choice, trace } = page;

  const walk = (by: 1 | -1) => {
    const steps = trace?.steps ?? [];
    const chosen = chosenIndexes(steps, address.get()["steps"] ?? "");
    const target = chosen === null ? null : neighbour(steps, chosen, by);
    if (target !== null) {
      address.replace({ steps: target });
    }
  };
  const copyLink = async () => {
    const link = address.href({ view, ...(choice === null ? {} : choiceValues(choice)) });
    page.say((await copyText(link)) ? "Link copied" : "Copying is not allowed here");
  };
  const toViews = views.map((target): [string, () => void] => [
    `g ${target.key}`,
    () => address.navigate(viewPatch(target.stem)),
  ]);
  const keys: KeyMap = {
    ...Object.fromEntries(toViews),
    "mod+k": page.openPalette,
    "?": page.openHelp,
    "/": focusFilter,
    "[": () => walk(-1),
    "]": () => walk(1),
    Escape: () => address.replace({ steps: undefined }),
    l: () => {
      copyLink();
    },
  };
  useKeys(keys);
}

/** The chosen trace: what the address says, what the catalog has, and which content of it is shown. */

export interface Selection {
  readonly resolved: Resolved;
  readonly choice: Choice | null;
  readonly pinned: Pinned;
  readonly shown: Shown | null;
  readonly trace: Answer<TraceInfo> | undefined;
  /** Whether it is still to be seen which steps the address means. */
  readonly isSettling: boolean;
  readonly problem: Error | null;
  readonly again: () => void;
}

/** The content of a span as the catalog knows it; "" while there is nothing to show. */
function digestOf(choice: Choice | null): string {
  if (choice === null) {
    return "";
  }
  const { digest, state } = choice.span;
  return state === "ready" ? digest : "";
}

export function useSelection(catalog: Catalog): Selection {
  const address = useAddress();
  const values = useValues();
  const resolved = resolveChoice(catalog, values);
  const choice = resolved.state === "chosen" ? resolved.choice : null;
  const isSettled = choice !== null && (!catalog.scanning || choice.span.state === "ready");

  // What the page chose by itself is written down, so that a newer run does not take its place.
  useEffect(() => {
    if (choice !== null && isSettled) {
      address.replace(choiceValues(choice));
    }
  }, [address, choice, isSettled]);

  const key =
    choice === null
      ? null
      : { run: choice.run.name, worker: choice.worker.name, span: choice.span.key };
  const { view, steps, device } = values;
  const pinned = usePinned(JSON.stringify([key, view, steps, device]), digestOf(choice));
  const isReadable = choice !== null && !["refused", "failed"].includes(choice.span.state);
  const isAsked = isReadable || pinned.digest !== "";
  const { data: trace, error, refetch } = useTrace(isAsked ? key : null, pinned.digest);
  const info = trace?.state === "ready" ? trace.data : null;
  const current =
    steps === undefined || info === null ? steps : currentParameter(info.steps, steps);
  useEffect(() => {
    if (current !== steps) {
      address.replace({ steps: current });
    }
  }, [address, current, steps]);
  return {
    resolved,
    choice,
    pinned,
    shown:
      key === null
        ? null
        : { key, digest: pinned.digest, file: choice?.span.file ?? "", trace: info },
    trace,
    isSettling: error === null && steps !== undefined && (info === null || current !== steps),
    problem: error,
    again: () => {
      askAgain(refetch);
    },
  };
}

/** The shell around every view: context bar, tabs, banners, and the stage. */

interface FrameProps {
  readonly info: Info;
  readonly catalog: Catalog;
}

/**
 * The page's view for what the address calls it: its stem, `timeline`, or its title in any case,
 * `Trace`. For none or an unknown one the first that the recording can fill: of a memory snapshot
 * that is Memory.
 */
export function pageView(
  views: readonly PageView[],
  listed: readonly ViewInfo[],
  asked: string | undefined,
  states: TraceInfo["views"] = [],
): PageView | undefined {
  const wanted = (asked ?? "").trim().toLowerCase();
  const named = listed.find(({ stem, title }) => stem === wanted || title.toLowerCase() === wanted);
  const isFilled = (one: PageView) =>
    states.some(({ stem, unavailable }) => stem === one.stem && unavailable === null);
  const filled = views.find((one) => one.stem !== "health" && isFilled(one));
  return views.find(({ stem }) => stem === named?.stem) ?? filled ?? views[0];
}

function useTitle(title: string): void {
  const { host } = useEnvironment();
  useEffect(() => {
    if (!host.hasParent) {
      document.title = title;
    }
  }, [host, title]);
}

export function Frame({ info, catalog }: FrameProps) {
  const selection = useSelection(catalog);
  const [overlay, setOverlay] = useState<"palette" | "help" | null>(null);
  const [said, say] = useState("");
  const { choice, pinned, shown } = selection;
  const trace = shown?.trace ?? null;
  // The server knows the order and the names, the page knows what it can draw.
  const opened = info.views.flatMap(({ stem }) => VIEWS.filter((view) => view.stem === stem));
  const listed = info.views.filter(({ stem }) => opened.some((view) => view.stem === stem));
  const view = pageView(opened, listed, useValues()["view"], trace?.views);
  const stem = view?.stem ?? "";
  const titles = new Map(listed.map((known) => [known.stem, known.title]));
  const title = titles.get(stem) ?? "";
  // Where there is no trace to fill the stage, a state stands in its place, with the usual margin.
  const isFlush = view?.isFlush === true && (shown?.digest ?? "") !== "";
  const close = () => setOverlay(null);
  const openPalette = () => setOverlay("palette");
  const openHelp = () => setOverlay("help");

  useTitle([choice?.run.name, title, "kinetoscope"].filter(Boolean).join(" · "));
  usePageKeys({
    views: listed,
    view: stem,
    choice,
    trace,
    say,
    openPalette,
    openHelp,
  });

  const page: Page = { info, catalog, shown, titles, openHelp, openPalette };
  return (
    <PageContext value={page}>
      <button type="button" className="btn skip" onClick={focusMain}>
        To the figures
      </button>
      <header className="page-head">
        <ContextBar
          catalog={catalog}
          choice={choice}
          trace={trace}
          pinned={pinned}
          view={stem}
          onSearch={openPalette}
          onHelp={openHelp}
        />
        <Tabs views={listed} current={stem} trace={trace} />
      </header>
      <ReportBanner />
      <ProblemBanner catalog={catalog} />
      <main id="main" className={isFlush ? "main flush" : "main"} tabIndex={-1}>
        <Boundary>
          {view === undefined ? null : <ViewArea view={view} title={title} selection={selection} />}
        </Boundary>
      </main>
      <p className="unseen" role="status">
        {said}
      </p>
      {overlay === "palette" ? (
        <Palette catalog={catalog} choice={choice} views={listed} onClose={close} />
      ) : null}
      {overlay === "help" ? <Help info={info} onClose={close} /> : null}
    </PageContext>
  );
}

function focusMain(): void {
  document.getElementById("main")?.focus();
}
