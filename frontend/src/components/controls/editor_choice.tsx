/** In which editor lines of source open. VS Code's own frame needs no choice. */
import { useId } from "react";
import { chooseEditor, EDITORS, useEditor, useSource } from "../../state/host/source";
import { Select } from "./select";

export function EditorChoice() {
  const id = useId();
  const editor = useEditor();
  const { isVscode } = useSource();
  if (isVscode) {
    return null;
  }
  return (
    <p className="hint">
      <label htmlFor={id}>A frame opens in </label>
      <Select id={id} options={EDITORS} value={editor} onChange={chooseEditor} />
    </p>
  );
}
