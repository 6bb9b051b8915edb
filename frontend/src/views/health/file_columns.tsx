/** The columns of the list of files. */
import {
  columnFilteringFeature,
  createColumnHelper,
  createFilteredRowModel,
  createSortedRowModel,
  filterFn_includesString,
  globalFilteringFeature,
  metaHelper,
  rowSortingFeature,
  sortFn_alphanumeric,
  sortFn_text,
  tableFeatures,
} from "@tanstack/react-table";
import type { FileInfo, State } from "../../api/types.gen";
import { ago, bytes, count, DASH, fixed, moment, NBSP } from "../../base/text/format";
import { Prose } from "../../components/text/prose";

export interface ColumnMeta {
  readonly isNumber?: boolean;
  /** The column gives way on small screens. */
  readonly isMinor?: boolean;
}

export const features = tableFeatures({
  columnMeta: metaHelper<ColumnMeta>(),
  columnFilteringFeature,
  globalFilteringFeature,
  rowSortingFeature,
  filteredRowModel: createFilteredRowModel(),
  sortedRowModel: createSortedRowModel(),
  filterFns: { includesString: filterFn_includesString },
  sortFns: { alphanumeric: sortFn_alphanumeric, text: sortFn_text },
});

const SIGNS: Readonly<Record<State, readonly [string, string]>> = {
  ready: ["yes", "✓"],
  reading: ["part", "…"],
  queued: ["no", "…"],
  waiting: ["no", "○"],
  refused: ["no", "○"],
  failed: ["bad", "✕"],
};

/** In use but not whole: the verdict is something else than "in use". */
function signOf(file: FileInfo): readonly [string, string] {
  return file.state === "ready" && file.reason !== "" ? ["part", "◐"] : SIGNS[file.state];
}

function Verdict({ file }: { file: FileInfo }) {
  const [className, sign] = signOf(file);
  return (
    <>
      <span className={className}>
        <span aria-hidden="true">{sign}</span> {file.verdict}
      </span>{" "}
      <span className="dim" title={[file.reason, file.hint].filter(Boolean).join("\n")}>
        <Prose text={file.reason} />
      </span>
    </>
  );
}

function readIn({ read_seconds, from_cache }: FileInfo): string {
  if (read_seconds === null) {
    return DASH;
  }
  const decimals = read_seconds < 100 ? 1 : 0;
  return from_cache ? "cache" : `${fixed(read_seconds, decimals)}${NBSP}s`;
}

const helper = createColumnHelper<typeof features, FileInfo>();

export const columns = helper.columns([
  helper.accessor("path", {
    header: "File",
    cell: ({ row }) => (
      <code title={`${row.original.logdir}/${row.original.path}`}>{row.original.path}</code>
    ),
  }),
  helper.accessor((file) => file.run ?? "", {
    id: "run",
    header: "Run",
    meta: { isMinor: true },
    cell: ({ row }) => row.original.run ?? <span className="dim">{DASH}</span>,
  }),
  helper.accessor("bytes", {
    header: "Size",
    meta: { isNumber: true },
    cell: ({ row }) => bytes(row.original.bytes),
  }),
  helper.accessor((file) => file.events ?? undefined, {
    id: "events",
    header: "Events",
    sortUndefined: "last",
    meta: { isNumber: true, isMinor: true },
    cell: ({ row }) => (row.original.events === null ? DASH : count(row.original.events)),
  }),
  helper.accessor((file) => file.read_seconds ?? undefined, {
    id: "read",
    header: "Read in",
    sortUndefined: "last",
    meta: { isNumber: true, isMinor: true },
    cell: ({ row }) => readIn(row.original),
  }),
  helper.accessor("modified", {
    header: "Changed",
    meta: { isMinor: true },
    cell: ({ row: { original } }) => (
      <span className="dim" title={moment(original.modified)}>
        {ago(Math.max(0, Date.now() / 1000 - original.modified))}
      </span>
    ),
  }),
  helper.accessor((file) => `${file.verdict} ${file.reason}`, {
    id: "verdict",
    header: "Verdict",
    cell: ({ row }) => <Verdict file={row.original} />,
  }),
]);
