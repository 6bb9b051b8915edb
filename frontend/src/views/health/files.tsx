/** Each file seen below the logdirs: accepted, or why not. */
import { useState } from "react";
import type { Catalog, FileInfo } from "../../api/types.gen";
import { count, plural } from "../../base/text/format";
import { CopyTable } from "../../components/controls/copy_table";
import { Segmented } from "../../components/controls/segmented";
import { Panel } from "../../components/states/panel";
import { SearchIcon } from "../../components/text/icons";
import { useAddress, useValues } from "../../state/host/environment";
import { useCatalogActions } from "../../state/queries";
import { FileTable } from "./file_table";

const toTable = (files: readonly FileInfo[]) => ({
  header: ["logdir", "path", "run", "bytes", "events", "read_seconds", "verdict", "reason"],
  rows: files.map((file) => [
    file.logdir,
    file.path,
    file.run,
    file.bytes,
    file.events,
    file.read_seconds,
    file.verdict,
    file.reason,
  ]),
});

/** Not in use, or not whole. */
const isUnused = (file: FileInfo) => file.state !== "ready";

export function Files({ catalog }: { catalog: Catalog }) {
  const address = useAddress();
  const values = useValues();
  const [search, setSearch] = useState("");
  const { look, isLooking } = useCatalogActions();
  const isUnusedOnly = values["health.files"] === "unused";
  const { files, files_total } = catalog;
  const unused = files.filter(isUnused);
  const shown = isUnusedOnly ? unused : files;
  const cut = files_total > files.length ? `, the first ${count(files.length)} are listed` : "";
  return (
    <Panel
      title={catalog.logdirs.length === 1 ? "Files seen in this logdir" : "Files seen"}
      hint={`${plural(files_total, "file")}, ${count(files.length - unused.length)} in use${cut}`}
      className="files-panel"
      hasBody={false}
      controls={
        <>
          <span className="input small">
            <SearchIcon />
            <input
              type="search"
              data-filter=""
              aria-label="Filter the files"
              placeholder="Filter"
              size={14}
              value={search}
              onChange={(event) => setSearch(event.target.value)}
              onKeyDown={(event) => {
                if (event.key === "Escape") {
                  event.preventDefault();
                  setSearch("");
                  event.currentTarget.blur();
                }
              }}
            />
          </span>
          <Segmented
            label="Which files"
            value={isUnusedOnly ? "unused" : "all"}
            options={[
              ["all", "All"],
              ["unused", `Not in use ${unused.length}`],
            ]}
            onChange={(next) =>
              address.replace({ "health.files": next === "all" ? undefined : next })
            }
          />
          <CopyTable label="the list of files" table={() => toTable(shown)} />
          <button type="button" className="btn small" onClick={look} disabled={isLooking}>
            Look again
          </button>
        </>
      }
    >
      <FileTable files={shown} search={search} />
    </Panel>
  );
}
