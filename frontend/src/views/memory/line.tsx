/** Places in the user's code: a line, which opens in the editor, and a module. */
import { harmless } from "../../base/text/shown_name";
import { SourceLink } from "../../components/controls/source_link";

const FRAME = /^(.+\.py)\((\d+)\): /s;

/** `nn.Module: Linear_0` says twice that it is a module. */
export const moduleName = (name: string) => name.replace(/^nn\.Module: /, "");

/** A line of code without its folders: `train.py(12): step`. */
export const withoutFolders = (frame: string) => frame.replace(/^.*[\\/](?=[^\\/]*\(\d+\): )/s, "");

/** "train.py(12): step". */
export function Line({ text }: { text: string }) {
  const match = FRAME.exec(text);
  return match === null ? (
    <code>{harmless(text)}</code>
  ) : (
    <SourceLink name={text} file={match[1] ?? ""} line={Number(match[2])} />
  );
}
