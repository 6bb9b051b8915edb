/** In which editor lines of source open. VS Code's own frame needs no choice. */
import { useId } from "react";
import { chooseEditor, EDITORS, useEditor, useSource } from "../../state/host/source";

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
      <select
        id={id}
        className="btn small"
        value={editor}
        onChange={(event) => chooseEditor(event.target.value)}
      >
        {EDITORS.map(([key, words]) => (
          <option key={key} value={key}>
            {words}
          </option>
        ))}
      </select>
    </p>
  );
}
