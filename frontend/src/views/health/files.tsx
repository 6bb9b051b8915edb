/** Each file seen below the logdirs: accepted, or why not. */
import { useMemo, useState } from "react";
import type { Catalog, FileInfo } from "../../api/types.gen";
import { plainTable } from "../../base/text/delimited";
import { count, plural } from "../../base/text/format";
import { CopyTable } from "../../components/controls/copy_table";
import { SearchField } from "../../components/controls/search_field";
import { Segmented } from "../../components/controls/segmented";
import { useSorted } from "../../components/data_table/rows";
import { DataTable } from "../../components/data_table/table";
import { matches } from "../../components/overlays/option_list";
import { Panel } from "../../components/states/panel";
import { useAddress, useValues } from "../../state/host/environment";
import { useCatalogActions } from "../../state/queries";
import { columns, FileDetails } from "./file_columns";

// The catalog comes from the store, not from a view: its files carry no heads of columns.
const toPlain = plainTable<FileInfo>([
  "logdir",
  "path",
  "run",
  "bytes",
  "events",
  "read_seconds",
  "verdict",
  "reason",
]);

const keyOf = ({ logdir, path }: FileInfo) => `${logdir}\n${path}`;

/** Not in use, or not whole. */
const isUnused = (file: FileInfo) => file.state !== "ready";

export function Files({ catalog }: { catalog: Catalog }) {
  const address = useAddress();
  const values = useValues();
  const [search, setSearch] = useState("");
  const [opened, setOpened] = useState("");
  const { look, isLooking } = useCatalogActions();
  const isUnusedOnly = values["health.files"] === "unused";
  const { files, files_total } = catalog;
  const unused = files.filter(isUnused);
  const shown = useMemo(
    () =>
      files.filter(
        (file) =>
          (!isUnusedOnly || isUnused(file)) &&
          matches(`${file.path} ${file.run ?? ""} ${file.verdict} ${file.reason}`, search),
      ),
    [files, isUnusedOnly, search],
  );
  const sorted = useSorted(shown, columns, null);
  const cut = files_total > files.length ? `, the first ${count(files.length)} are listed` : "";
  return (
    <Panel
      title={catalog.logdirs.length === 1 ? "Files seen in this logdir" : "Files seen"}
      hint={`${plural(files_total, "file")}, ${count(files.length - unused.length)} in use${cut}`}
      className="files-panel"
      hasBody={false}
      controls={
        <>
          <SearchField
            words="Filter"
            label="Filter the files"
            value={search}
            onChange={setSearch}
          />
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
          <CopyTable label="the list of files" table={() => toPlain(sorted.rows)} />
          <button type="button" className="btn small" onClick={look} disabled={isLooking}>
            Look again
          </button>
        </>
      }
    >
      <DataTable
        label="Files"
        columns={columns}
        {...sorted}
        keyOf={keyOf}
        expanded={(file) => keyOf(file) === opened}
        onExpand={(file, isOpen) => setOpened(isOpen ? keyOf(file) : "")}
        detail={(file) => <FileDetails file={file} />}
        toPlain={toPlain}
        empty="No such file."
      />
    </Panel>
  );
}
