/** Places in the user's code: a line, which opens in the editor, and a module. */
import { createContext, useContext } from "react";
import { harmless } from "../../base/text/shown_name";
import { SourceLink } from "../../components/controls/source_link";

const FRAME = /^(.+\.py)\((\d+)\): /s;

/** `nn.Module: Linear_0` says twice that it is a module. */
export const moduleName = (name: string) => name.replace(/^nn\.Module: /, "");

/**
 * Whether frames have the line that ran, as those of a snapshot do. The profiler of torch records the line
 * where a function begins.
 */
export const ExactLines = createContext(false);

const NAMED = /^(?:.*[\\/])?([^\\/]*)\((\d+)\): (.+)$/s;

/** A frame without its folders: `step (train.py:12…)`, or `train.py:14 step` of the line itself. */
export function frameWords(frame: string, isExact: boolean): string {
  const [, file, line, name] = NAMED.exec(frame) ?? [];
  return name === undefined
    ? frame
    : isExact
      ? `${file}:${line} ${name}`
      : `${name} (${file}:${line}…)`;
}

export const useFrameWords = () => {
  const isExact = useContext(ExactLines);
  return (frame: string) => frameWords(frame, isExact);
};

/** A place in the code, which opens in the editor. */
export function Line({ text }: { text: string }) {
  const words = useFrameWords();
  const match = FRAME.exec(text);
  return match === null ? (
    <code>{harmless(text)}</code>
  ) : (
    <SourceLink name={words(text)} file={match[1] ?? ""} line={Number(match[2])} />
  );
}
