/** A frame of a stack; where it tells a file, it opens in the editor. */
import { harmless } from "../base/shown_name";
import { useSource } from "../state/source";
import { CodeName } from "./code_name";

interface SourceLinkProps {
  readonly name: string;
  readonly file: string;
  /** 1-based; 0 = unknown. */
  readonly line: number;
}

export function SourceLink({ name, file, line }: SourceLinkProps) {
  const { open, words } = useSource();
  if (file === "") {
    return <CodeName name={name} />;
  }
  return (
    <button
      type="button"
      className="link"
      title={`${words} ${harmless(file)}:${line}`}
      onClick={() => open(file, line)}
    >
      <CodeName name={name} />
    </button>
  );
}
