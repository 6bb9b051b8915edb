/**
 * Opening a line of source: in VS Code through its webview, in an editor of the user's choice
 * through a link, else by copying the place.
 */
import { useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import { toProblem } from "../../api/problem";
import { getSource } from "../../api/routes";
import type { SourcePlace } from "../../api/types.gen";
import { copyText } from "../../base/clipboard";
import { recall, remember } from "../../base/storage";
import { cell, useCell } from "../cell";
import { usePage } from "../page_context";
import { hasEditor, openInEditor } from "./embedder";

/** `{path}` and `{line}` are replaced; the path as it stands in an address. */
export const EDITORS: readonly (readonly [string, string, string])[] = [
  ["copy", "nothing: copy path:line", ""],
  ["vscode", "VS Code", "vscode://file/{path}:{line}:1"],
  ["vscode-insiders", "VS Code Insiders", "vscode-insiders://file/{path}:{line}:1"],
  ["cursor", "Cursor", "cursor://file/{path}:{line}:1"],
  ["windsurf", "Windsurf", "windsurf://file/{path}:{line}:1"],
  ["pycharm", "PyCharm", "pycharm://open?file={path}&line={line}"],
  ["idea", "IntelliJ IDEA", "idea://open?file={path}&line={line}"],
];
const KEY = "editor";

const chosen = cell("");

export function chooseEditor(editor: string): void {
  remember(KEY, editor);
  chosen.set(editor);
}

export const useEditor = (): string => useCell(chosen, () => recall(KEY) ?? "copy");

/** The address that opens a place in an editor; null for one that is opened by copying. */
export function editorLink(editor: string, path: string, line: number): string | null {
  const template = EDITORS.find(([key]) => key === editor)?.[2] ?? "";
  if (template === "" || path === "") {
    return null;
  }
  const encoded = path.replace(/^\/+/, "").split("/").map(encodeURIComponent).join("/");
  return template.replace("{path}", encoded).replace("{line}", String(Math.max(1, line)));
}

/** What VS Code's webview takes: lines count from 0, and 0 would be dropped. */
export const vscodeMessage = (path: string, line: number) => ({
  filename: path,
  line: Math.max(1, line - 1),
});

/** VS Code shows TensorBoard in a webview: our frame's parent's parent is its page. */
export function isInVscode(view: Window): boolean {
  const origins = view.location.ancestorOrigins;
  return (
    view.parent.parent !== view.parent &&
    origins !== undefined &&
    [...origins].some((origin) => /^vscode-webview:|vscode-cdn\.net$/.test(origin))
  );
}

export type Opened = "sent" | "linked" | "copied" | "refused";

export async function openPlace(
  view: Window,
  isVscode: boolean,
  editor: string,
  path: string,
  line: number,
): Promise<Opened> {
  if (openInEditor(path, line)) {
    return "sent";
  }
  if (isVscode) {
    view.parent.parent.postMessage(vscodeMessage(path, line), "*");
    return "sent";
  }
  const link = editorLink(editor, path, line);
  if (link !== null) {
    // A link that the system opens; the page stays.
    view.location.assign(link);
    return "linked";
  }
  return (await copyText(`${path}:${line}`)) ? "copied" : "refused";
}

/** What became of a click on a frame; "missing" where no place for it is known. */
export interface OpenedSource {
  readonly opened: Opened | "missing";
  readonly place: SourcePlace | null;
  /** Why there is no place, where there is none. */
  readonly problem: string;
}

/** Opens the file of a frame of the shown trace. */
export function useSource() {
  const { shown, info } = usePage();
  const client = useQueryClient();
  const editor = useEditor();
  return useMemo(() => {
    const isVscode = info?.vscode === true || hasEditor() || isInVscode(window);
    const words = isVscode
      ? "Open in VS Code:"
      : editor === "copy"
        ? "Copy"
        : `Open in ${EDITORS.find(([key]) => key === editor)?.[1] ?? "the editor"}:`;
    const open = async (file: string, line: number): Promise<OpenedSource> => {
      if (shown === null) {
        return { opened: "missing", place: null, problem: "No trace is shown." };
      }
      const { key, digest } = shown;
      try {
        const place = await client.fetchQuery({
          queryKey: ["source", key, digest, file, line],
          queryFn: ({ signal }) => getSource(key, file, line, signal),
          staleTime: 60_000,
        });
        // A name without a known place opens nothing: an invented path would be another file.
        const opened =
          place.path === ""
            ? "missing"
            : await openPlace(window, isVscode, editor, place.path, line);
        return { opened, place, problem: "" };
      } catch (thrown) {
        const { message, hint } = toProblem(thrown);
        return { opened: "missing", place: null, problem: `${message} ${hint}`.trim() };
      }
    };
    return { open, words, isVscode };
  }, [shown, info, client, editor]);
}
