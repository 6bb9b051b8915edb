/** A frame of a stack; where it tells a file, it opens in the editor, or says why it cannot. */
import { useState } from "react";
import type { SourcePlace } from "../../api/types.gen";
import { harmless } from "../../base/text/shown_name";
import { type OpenedSource, useSource } from "../../state/host/source";
import { CodeName } from "../text/code_name";
import { Prose } from "../text/prose";

interface SourceLinkProps {
  readonly name: string;
  readonly file: string;
  /** 1-based; 0 = unknown. */
  readonly line: number;
}

export function SourceLink({ name, file, line }: SourceLinkProps) {
  const { open, words } = useSource();
  const [told, setTold] = useState<OpenedSource | null>(null);
  if (file === "") {
    return <CodeName name={name} />;
  }
  return (
    <>
      <button
        type="button"
        className="link"
        title={`${words} ${harmless(file)}:${line}`}
        onClick={() => open(file, line).then(setTold)}
      >
        <CodeName name={name} />
      </button>
      {told === null ? null : <Told told={told} file={file} line={line} />}
    </>
  );
}

const WORDS: Readonly<Record<OpenedSource["opened"], string>> = {
  sent: "",
  linked: "",
  copied: "Copied.",
  refused: "Copying is not allowed here.",
  missing: "",
};

/** What became of a click: nothing to say where an editor opened. */
function Told({ told, file, line }: { told: OpenedSource; file: string; line: number }) {
  const { opened, place, problem } = told;
  const lines = place === null || place.lines.length === 0 ? null : <Lines place={place} />;
  const isMissing = opened === "missing";
  return (
    <span className="source-told" role="status">
      {WORDS[opened]}
      {isMissing ? (
        <>
          <code>{`${harmless(file)}:${line}`}</code> <Prose text={place?.missing ?? problem} />
          {place === null || place.directory === "" ? null : (
            <>
              {" Recorded in "}
              <code>{harmless(place.directory)}</code>.
            </>
          )}
        </>
      ) : null}
      {lines}
    </span>
  );
}

function Lines({ place }: { place: SourcePlace }) {
  const width = String(place.first + place.lines.length).length;
  return (
    <code className="source-lines">
      {place.lines.map((text, at) => {
        const number = place.first + at;
        return (
          <span key={number} className={number === place.line ? "strong" : undefined}>
            {`${String(number).padStart(width)}  ${harmless(text.replaceAll("\t", "    "))}\n`}
          </span>
        );
      })}
    </code>
  );
}
