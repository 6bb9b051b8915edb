/** The shell around every view: context bar, tabs, banners, and the stage. */
import { useEffect, useState } from "react";
import type { Catalog, Info, ViewInfo } from "../api/types.gen";
import { Boundary } from "../components/boundary";
import { useEnvironment, useValues } from "../state/environment";
import { type Page, PageContext } from "../state/page_context";
import { type PageView, VIEWS } from "../views";
import { ProblemBanner } from "./banners";
import { ContextBar } from "./context_bar";
import { Help } from "./help";
import { Palette } from "./palette";
import { Stage } from "./stage";
import { Tabs } from "./tabs";
import { usePageKeys } from "./use_page_keys";
import { useSelection } from "./use_selection";

interface FrameProps {
  readonly info: Info;
  readonly catalog: Catalog;
}

/**
 * The page's view for what the address calls it: its stem, `timeline`, or its title in any case,
 * `Trace`. The first one for none or an unknown one.
 */
export function pageView(
  views: readonly PageView[],
  listed: readonly ViewInfo[],
  asked: string | undefined,
): PageView | undefined {
  const wanted = (asked ?? "").trim().toLowerCase();
  const named = listed.find(({ stem, title }) => stem === wanted || title.toLowerCase() === wanted);
  return views.find(({ stem }) => stem === named?.stem) ?? views[0];
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
  const view = pageView(opened, listed, useValues()["view"]);
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
      <ProblemBanner catalog={catalog} />
      <main id="main" className={isFlush ? "main flush" : "main"} tabIndex={-1}>
        <Boundary>
          {view === undefined ? null : <Stage view={view} title={title} selection={selection} />}
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
