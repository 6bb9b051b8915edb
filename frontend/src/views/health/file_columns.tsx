/** The columns of the list of files, which the catalog sends without heads. */
import type { FileInfo, State } from "../../api/types.gen";
import { ago, bytes, count, DASH, moment, NBSP, notZero } from "../../base/text/format";
import { type Column, numberColumn } from "../../components/data_table/table";
import { PathName } from "../../components/text/code_name";
import { Prose } from "../../components/text/prose";

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
  return from_cache ? "cache" : `${notZero(read_seconds, decimals)}${NBSP}s`;
}

export const columns: readonly Column<FileInfo>[] = [
  {
    key: "path",
    head: "File",
    help: "Its path in the logdir.",
    width: 180,
    grow: 5,
    sort: ({ path }) => path,
    cell: ({ logdir, path }) => <PathName path={path} title={`${logdir}/${path}`} />,
  },
  {
    key: "run",
    head: "Run",
    help: "The run, which is a folder.",
    width: 80,
    grow: 2,
    sort: ({ run }) => run,
    cell: ({ run }) => run ?? <span className="dim">{DASH}</span>,
  },
  numberColumn("bytes", "Size", (file) => bytes(file.bytes), {
    width: 76,
    sort: (file) => file.bytes,
    help: "Size of the file.",
  }),
  numberColumn("events", "Events", ({ events }) => (events === null ? DASH : count(events)), {
    width: 76,
    sort: ({ events }) => events,
    help: "All events of the file.",
  }),
  numberColumn("read", "Read in", readIn, {
    sort: ({ read_seconds }) => read_seconds,
    help: "Time to read the file; “cache” if a stored copy was used.",
  }),
  numberColumn(
    "modified",
    "Changed",
    ({ modified }) => (
      <span className="dim" title={moment(modified)}>
        {ago(Math.max(0, Date.now() / 1000 - modified))}
      </span>
    ),
    { width: 92, sort: ({ modified }) => modified, help: "When the file was written last." },
  ),
  {
    key: "verdict",
    head: "Verdict",
    help: "Used or not, with the reason. Open a row for the full text.",
    width: 160,
    grow: 5,
    isMain: true,
    sort: ({ verdict, reason }) => `${verdict} ${reason}`,
    cell: (file) => <Verdict file={file} />,
  },
];

/** What a row of a file opens: the words that it has no room for. */
export function FileDetails({ file }: { file: FileInfo }) {
  return (
    <div className="file-details">
      <p>
        <code>{`${file.logdir}/${file.path}`}</code>
      </p>
      {[file.reason, file.hint].filter(Boolean).map((text) => (
        <p key={text}>
          <Prose text={text} />
        </p>
      ))}
    </div>
  );
}
