/** Names as text, all of it on hover: of code, what matters bright; of machines, the end. */
import { harmless, NO_NAME, nameParts } from "../../base/text/shown_name";

const TITLE_MAX = 1500;

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

export function CodeName({ name }: { name: string }) {
  const { before, base, after } = nameParts(name);
  // That a kernel returns nothing is no news.
  const shown = before.replace(/^void /, "");
  return (
    <bdi className="code-name" title={harmless(name, TITLE_MAX)}>
      {shown === "" ? null : <span className="dim">{shown}</span>}
      {base === "" && before === "" && after === "" ? (
        <span className="dim">{NO_NAME}</span>
      ) : (
        <Base text={base} />
      )}
      {after === "" ? null : <span className="dim">{after}</span>}
    </bdi>
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
