/** Names as text, all of it on hover: of code, what matters bright; of files, both ends; of machines, the end. */
import { harmless, NO_NAME, nameParts } from "../../base/text/shown_name";

const TITLE_MAX = 1500;
/** As long as the longest path of Linux. */
const PATH_MAX = 4096;

/** Names that begin alike differ at their end, so where there is little room the middle of a long one goes. */
const LONG = 24;
const END = 10;

function Base({ text }: { text: string }) {
  const signs = [...text];
  return signs.length <= LONG ? (
    <span className="base">{text}</span>
  ) : (
    <span className="base long">
      <span>{signs.slice(0, -END).join("")}</span>
      <span>{signs.slice(-END).join("")}</span>
    </span>
  );
}

/** What is before the base. Of a folder that is shortened already the start goes: one sign says so. */
function Before({ text }: { text: string }) {
  return text.startsWith("…") ? (
    <span className="dim from-end">
      <bdi dir="ltr">{text}</bdi>
    </span>
  ) : (
    <span className="dim">{text}</span>
  );
}

interface CodeNameProps {
  readonly name: string;
  /** As far as it differs from the other names of a table: shown in place of the whole. */
  readonly short?: string;
}

export function CodeName({ name, short = name }: CodeNameProps) {
  const { before, base, after } = nameParts(short);
  // That a kernel returns nothing is no news.
  const shown = before.replace(/^void /, "");
  return (
    <bdi className="code-name" title={harmless(name, TITLE_MAX)}>
      {shown === "" ? null : <Before text={shown} />}
      {base === "" && before === "" && after === "" ? (
        <span className="dim">{NO_NAME}</span>
      ) : (
        <Base text={base} />
      )}
      {after === "" ? null : <span className={short === name ? "dim" : "args"}>{after}</span>}
    </bdi>
  );
}

/** The path of a file: where there is little room, its folders give way first, then the middle of its name. */
export function PathName({ path, title = path }: { path: string; title?: string }) {
  const shown = harmless(path, PATH_MAX);
  const name = shown.lastIndexOf("/") + 1;
  return (
    <code className="code-name" title={harmless(title, PATH_MAX)}>
      {name === 0 ? null : <span className="dim">{shown.slice(0, name)}</span>}
      <Base text={shown.slice(name)} />
    </code>
  );
}

/** A name of a node or a worker: these differ at their ends, so where there is little room the start goes. */
export function EndName({ name }: { name: string }) {
  const shown = harmless(name);
  return (
    <span className="end-name" title={shown}>
      <bdi dir="ltr">{shown}</bdi>
    </span>
  );
}
