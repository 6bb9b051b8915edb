/** A name of code as text: what matters bright, the rest dim, all of it on hover. */
import { harmless, nameParts } from "../../base/text/shown_name";

const TITLE_MAX = 1500;

export function CodeName({ name }: { name: string }) {
  const { before, base, after } = nameParts(name);
  // That a kernel returns nothing is no news.
  const shown = before.replace(/^void /, "");
  return (
    <bdi className="code-name" title={harmless(name, TITLE_MAX)}>
      {shown === "" ? null : <span className="dim">{shown}</span>}
      {base === "" && before === "" && after === "" ? (
        <span className="dim">(no name)</span>
      ) : (
        <span className="base">{base}</span>
      )}
      {after === "" ? null : <span className="dim">{after}</span>}
    </bdi>
  );
}
