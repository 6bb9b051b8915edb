/** Taking away what is shown: as a trace, as a picture, as a link, into Perfetto's own page. */
import { copyText } from "../../../base/clipboard";
import { Popover } from "../../../components/overlays/popover";
import { useAddress } from "../../../state/host/environment";
import { usePage } from "../../../state/page_context";
import { DownloadIcon } from "../icons";
import { useTimelineContext } from "../state/context";
import { PERFETTO } from "./perfetto";
import { useExport } from "./use_export";

interface EntryProps {
  readonly words: string;
  readonly hint: string;
  readonly run: () => void;
}

function Entry({ words, hint, run }: EntryProps) {
  return (
    <button type="button" role="menuitem" className="option" onClick={run}>
      <span className="grow nowrap">{words}</span>
      <span className="hint nowrap">{hint}</span>
    </button>
  );
}

export function DownloadMenu() {
  const { moving, link, sources } = useTimelineContext();
  const { shown } = usePage();
  const address = useAddress();
  const exportRows = useExport();
  const say = (words: string) => moving.notice.set(words);
  const tell = (promise: Promise<void>, done: string) => {
    promise.then(
      () => say(done),
      (error: unknown) => say(error instanceof Error ? error.message : String(error)),
    );
  };
  const what = link.area === null ? "what is in view" : "the chosen area";
  const of = sources.length > 1 ? `, of ${shown?.key.worker}` : "";
  const copyLink = async () => {
    const done = await copyText(address.href({ view: "timeline", ...shown?.key }));
    say(done ? "Link copied" : "Copying is not allowed here");
  };
  return (
    <Popover
      className="btn quiet icon"
      kind="menu"
      label="Download and share"
      button={<DownloadIcon />}
    >
      {(close) => {
        const doing = (run: () => void) => () => {
          close();
          run();
        };
        return (
          <div role="menu" aria-label="Download and share">
            <Entry
              words="Download as a smaller trace"
              hint={what + of}
              run={doing(() => {
                say("Cutting the window out of the trace…");
                tell(exportRows.saveTrace(), "Trace saved");
              })}
            />
            <Entry
              words="Save as picture"
              hint="Ctrl Shift S"
              run={doing(() => tell(exportRows.savePicture(), "Picture saved"))}
            />
            <Entry
              words="Copy as picture"
              hint="PNG"
              run={doing(() => tell(exportRows.copyPicture(), "Picture copied"))}
            />
            <Entry
              words="Copy link to just this"
              hint="L"
              run={doing(() => {
                copyLink();
              })}
            />
            <hr />
            <Entry
              words="Open in Perfetto"
              hint={what + of}
              run={doing(() => {
                say("Opening Perfetto's page…");
                tell(exportRows.openPerfetto(), "Opened in Perfetto's page");
              })}
            />
            <p className="empty hint tl-lines">
              Opens {PERFETTO} in a new window and hands the trace to it there. It needs a network;
              nothing else here does.
            </p>
          </div>
        );
      }}
    </Popover>
  );
}
