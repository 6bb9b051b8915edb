/** The time of each recorded Python function beside its first line, as the opened server has it. */
import * as vscode from "vscode";

const SECONDS = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
] as const;
const FRAME = /^(.*)\((\d+)\): (.*)$/;
const MOST_ROWS = 1000;

interface Row {
  readonly name: string;
  readonly calls: number;
  readonly total_ns: number;
  readonly self_ns: number;
}

export function timeText(ns: number): string {
  const [size, unit] = SECONDS.find(([least]) => ns >= least) ?? [1, "ns"];
  return `${Number((ns / size).toPrecision(3))} ${unit}`;
}

/** Lines of a file, from 1, with what was recorded of the function that begins there. */
export function linesOf(rows: readonly Row[], file: string): Map<number, Row> {
  const parts = file.replaceAll("\\", "/");
  const found = new Map<number, Row>();
  for (const row of rows) {
    const [, path, line] = FRAME.exec(row.name) ?? [];
    const own = path?.replaceAll("\\", "/").replace(/^\.?\//, "");
    if (own && (parts === `/${own}` || parts.endsWith(`/${own}`))) {
      found.set(Number(line), row);
    }
  }
  return found;
}

export class LineTimes implements vscode.Disposable {
  private readonly look = vscode.window.createTextEditorDecorationType({
    before: {
      color: new vscode.ThemeColor("editorCodeLens.foreground"),
      width: "19ch",
      margin: "0 1ch 0 0",
      fontStyle: "normal",
    },
    isWholeLine: false,
  });
  private rows: readonly Row[] | null = null;

  get isShown(): boolean {
    return this.rows !== null;
  }

  /** Asks the server of the opened profile, and writes into all visible editors. */
  async show(url: string, place: string): Promise<void> {
    const query = `group_by=name&kinds=python&sort_by=total_ns&limit=${MOST_ROWS}`;
    const address = `${url}api/view/operators/table?${query}${place ? `&${place}` : ""}`;
    let response = await fetch(address);
    for (let asked = 0; response.status === 202 && asked < 120; asked += 1) {
      await new Promise((resolve) => setTimeout(resolve, 500));
      response = await fetch(address);
    }
    const answer = (await response.json()) as { rows?: Row[]; error?: { message: string } };
    if (!response.ok || answer.rows === undefined) {
      throw new Error(answer.error?.message ?? "The server has no times of functions.");
    }
    this.rows = answer.rows;
    this.draw();
  }

  hide(): void {
    this.rows = null;
    this.draw();
  }

  /** Where a file was changed since, its lines may have moved: it says so. */
  draw(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const { document } = editor;
      const lines = this.rows === null ? [] : [...linesOf(this.rows, document.uri.fsPath)];
      editor.setDecorations(
        this.look,
        lines
          .filter(([line]) => line >= 1 && line <= document.lineCount)
          .map(([line, { calls, total_ns, self_ns, name }]) => ({
            range: new vscode.Range(line - 1, 0, line - 1, 0),
            renderOptions: {
              before: { contentText: `${timeText(total_ns)} · ${calls}×${document.isDirty ? " ?" : ""}` },
            },
            hoverMessage: new vscode.MarkdownString().appendText(
              `${name}: ${timeText(total_ns)} in the recording, ${timeText(self_ns)} by itself,` +
                ` ${calls} calls.${document.isDirty ? " The file has changed: lines may have moved." : ""}`,
            ),
          })),
      );
    }
  }

  dispose(): void {
    this.look.dispose();
  }
}
