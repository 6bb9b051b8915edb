/** The page of kinetoscope in an editor tab, and what it asks of the editor. */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { LineTimes } from "./line_times";
import { type Served, Servers, sourceMap } from "./server";

const TRACES = "**/*.{pt.trace.json,pt.trace.json.gz,pftrace}";

interface FromPage {
  readonly kinetoscope: 1;
  readonly type: "ready" | "open";
  readonly path?: string;
  readonly line?: number;
}

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel("kinetoscope");
  const servers = new Servers(log);
  const times = new LineTimes();
  let last: Served | null = null;

  const open = async (resource?: vscode.Uri) => {
    const target = resource ?? (await chosenTarget());
    if (target === undefined) {
      return;
    }
    const title = path.basename(target.fsPath);
    const where = { location: vscode.ProgressLocation.Window, title: `kinetoscope: ${title}` };
    last = await vscode.window.withProgress(where, () => servers.of(target));
    await showPage(last, title);
  };
  const toggle = async () => {
    if (times.isShown) {
      times.hide();
    } else if (last === null) {
      throw new Error("Open a profile first: Kinetoscope: Open profile.");
    } else {
      await times.show(last.url, last.fragment.replace(/^#/, ""));
    }
  };
  const command = <A extends unknown[]>(name: string, run: (...given: A) => Promise<void>) =>
    vscode.commands.registerCommand(name, async (...given: A) => {
      try {
        await run(...given);
      } catch (thrown) {
        vscode.window.showErrorMessage(thrown instanceof Error ? thrown.message : String(thrown));
      }
    });
  context.subscriptions.push(
    log,
    servers,
    times,
    command("kinetoscope.open", open),
    command("kinetoscope.lineTimes", toggle),
    vscode.window.onDidChangeVisibleTextEditors(() => times.draw()),
    vscode.workspace.onDidChangeTextDocument(() => times.draw()),
  );
}

/** The newest recordings of the workspace to choose from, or any file or folder. */
async function chosenTarget(): Promise<vscode.Uri | undefined> {
  const files = await vscode.workspace.findFiles(TRACES, "**/node_modules/**", 500);
  const stats = await Promise.all(
    files.map(async (uri) => ({ uri, mtime: (await vscode.workspace.fs.stat(uri)).mtime })),
  );
  const newest = new Map<string, vscode.Uri>();
  for (const { uri } of stats.sort((a, b) => b.mtime - a.mtime)) {
    const folder = path.dirname(uri.fsPath);
    newest.set(folder, vscode.Uri.file(folder));
  }
  const runs = [...newest.values()].map((uri) => ({
    label: vscode.workspace.asRelativePath(uri),
    description: "run",
    uri: uri as vscode.Uri | undefined,
  }));
  const other = { label: "A file or folder…", description: "", uri: undefined };
  if (runs.length > 0) {
    const picked = await vscode.window.showQuickPick([...runs, other], {
      placeHolder: "Which recording?",
    });
    if (picked === undefined || picked.uri !== undefined) {
      return picked?.uri;
    }
  }
  const shown = await vscode.window.showOpenDialog({
    canSelectFiles: true,
    canSelectFolders: true,
    openLabel: "Open profile",
  });
  return shown?.[0];
}

async function showPage({ url, fragment }: Served, title: string): Promise<void> {
  const external = await vscode.env.asExternalUri(vscode.Uri.parse(url));
  const panel = vscode.window.createWebviewPanel(
    "kinetoscope",
    `kinetoscope: ${title}`,
    vscode.ViewColumn.Active,
    { enableScripts: true, retainContextWhenHidden: true },
  );
  const address = external.toString(true).replace(/\/?$/, "/") + fragment;
  panel.webview.html = pageHtml(address, new URL(address).origin);
  panel.webview.onDidReceiveMessage(async (message: FromPage) => {
    if (message.type === "open" && typeof message.path === "string") {
      await openLine(message.path, message.line ?? 1);
    }
  });
}

const quoted = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");

/** A frame with the page, and a script that hands messages on: to the page's origin, from its window. */
function pageHtml(address: string, origin: string): string {
  const nonce = randomBytes(16).toString("base64");
  return `<!doctype html>
<html><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; frame-src ${quoted(origin)};
 style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'">
<style nonce="${nonce}">html,body,iframe{margin:0;padding:0;border:0;width:100%;height:100vh}</style>
</head><body><iframe id="page" src="${quoted(address)}"></iframe>
<script nonce="${nonce}">
const editor = acquireVsCodeApi();
const frame = document.getElementById("page");
const origin = ${JSON.stringify(origin)};
const tell = (message) => frame.contentWindow.postMessage({ kinetoscope: 1, ...message }, origin);
const isLight = () => /vscode-(high-contrast-)?light/.test(document.body.className);
const tellTheme = () => tell({ type: "theme", theme: isLight() ? "light" : "dark" });
const greeting = setInterval(() => tell({ type: "hello" }), 300);
addEventListener("message", ({ data, source }) => {
  if (source !== frame.contentWindow || data?.kinetoscope !== 1) return;
  if (data.type === "ready") { clearInterval(greeting); tellTheme(); }
  editor.postMessage(data);
});
new MutationObserver(tellTheme).observe(document.body, { attributes: true, attributeFilter: ["class"] });
</script></body></html>`;
}

/** The file that a path of the page means: itself, else the workspace's file with the longest equal end. */
async function fileFor(wanted: string): Promise<vscode.Uri | undefined> {
  const roots = Object.values(sourceMap()).map((root) => path.resolve(root) + path.sep);
  const uri = vscode.Uri.file(wanted);
  const isOurs =
    vscode.workspace.getWorkspaceFolder(uri) !== undefined ||
    roots.some((root) => uri.fsPath.startsWith(root));
  if (existsSync(uri.fsPath)) {
    const open = "Open it";
    const question = `${uri.fsPath} is outside of the workspace.`;
    const agreed = isOurs || (await vscode.window.showInformationMessage(question, open)) === open;
    return agreed ? uri : undefined;
  }
  const name = path.posix.basename(wanted.replaceAll("\\", "/"));
  const parts = wanted.replaceAll("\\", "/").split("/").reverse();
  const found = await vscode.workspace.findFiles(`**/${name}`, "**/node_modules/**", 100);
  const score = (one: vscode.Uri) => {
    const own = one.path.split("/").reverse();
    const at = parts.findIndex((part, i) => part !== own[i]);
    return at < 0 ? parts.length : at;
  };
  const [best, next] = found.sort((a, b) => score(b) - score(a));
  // Two files that fit alike: neither is opened.
  const isClear = best !== undefined && (next === undefined || score(next) < score(best));
  if (!isClear) {
    vscode.window.showWarningMessage(
      `${wanted} is not here. The setting kinetoscope.sourceMap says where its folder is.`,
    );
  }
  return isClear ? best : undefined;
}

async function openLine(wanted: string, line: number): Promise<void> {
  const uri = await fileFor(wanted);
  if (uri === undefined) {
    return;
  }
  const document = await vscode.workspace.openTextDocument(uri);
  const editor = await vscode.window.showTextDocument(document, {
    viewColumn: vscode.ViewColumn.Beside,
  });
  const place = new vscode.Position(Math.min(Math.max(1, line), document.lineCount) - 1, 0);
  editor.selection = new vscode.Selection(place, place);
  editor.revealRange(new vscode.Range(place, place), vscode.TextEditorRevealType.InCenter);
}
