/** Taking away what is shown: as a trace, as a picture, as a link, into Perfetto's own page. */
import { copyText } from "../../../base/clipboard";
import { Menu, MenuItem } from "../../../components/overlays/menu";
import { useAddress } from "../../../state/host/environment";
import { usePage } from "../../../state/page_context";
import { DownloadIcon } from "../icons";
import { useTimelineContext } from "../state/context";
import { PERFETTO } from "./perfetto";
import { useExport } from "./use_export";

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
    <Menu className="btn quiet icon" label="Download and share" button={<DownloadIcon />}>
      <MenuItem
        words="Download as a smaller trace"
        hint={what + of}
        run={() => {
          say("Cutting the window out of the trace…");
          tell(exportRows.saveTrace(), "Trace saved");
        }}
      />
      <MenuItem
        words="Save as picture"
        hint="Ctrl Shift S"
        run={() => tell(exportRows.savePicture(), "Picture saved")}
      />
      <MenuItem
        words="Copy as picture"
        hint="PNG"
        run={() => tell(exportRows.copyPicture(), "Picture copied")}
      />
      <MenuItem words="Copy link to just this" hint="L" run={copyLink} />
      <hr />
      <MenuItem
        words="Open in Perfetto"
        hint={what + of}
        run={() => {
          say("Opening Perfetto's page…");
          tell(exportRows.openPerfetto(), "Opened in Perfetto's page");
        }}
      />
      <p className="empty hint tl-lines">
        Opens {PERFETTO} in a new window and hands the trace to it there. It needs a network;
        nothing else here does.
      </p>
    </Menu>
  );
}
