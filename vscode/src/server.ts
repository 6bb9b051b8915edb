/** `kinetoscope serve` of the selected Python: one process for each folder or file that was opened. */
import { type ChildProcess, spawn } from "node:child_process";
import * as vscode from "vscode";

const START_MS = 60_000;
const ADDRESS = /kinetoscope is at (http:\/\/\S+?\/)(#\S*)? /;

export interface Served {
  /** Where the page is on the machine of the extension; ends with "/". */
  readonly url: string;
  /** The place of the opened file in the page's address, with "#"; "" of a folder. */
  readonly fragment: string;
}

interface PythonApi {
  readonly environments?: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { readonly path: string };
  };
}

/** The Python of the settings, else the one that the Python extension has selected. */
async function pythonFor(target: vscode.Uri): Promise<string> {
  const chosen = vscode.workspace.getConfiguration("kinetoscope", target).get<string>("python");
  if (chosen) {
    return chosen;
  }
  const extension = vscode.extensions.getExtension<PythonApi>("ms-python.python");
  const api = extension?.isActive === false ? await extension.activate() : extension?.exports;
  const selected = api?.environments?.getActiveEnvironmentPath(target).path;
  return selected ?? (process.platform === "win32" ? "python" : "python3");
}

/** The folders of the recording and where they are here, as `KINETOSCOPE_SOURCE_MAP` has them. */
export function sourceMap(target?: vscode.Uri): Readonly<Record<string, string>> {
  const settings = vscode.workspace.getConfiguration("kinetoscope", target);
  return settings.get<Record<string, string>>("sourceMap") ?? {};
}

export class Servers implements vscode.Disposable {
  private readonly running = new Map<string, Promise<Served>>();
  private readonly processes = new Set<ChildProcess>();

  constructor(private readonly log: vscode.OutputChannel) {}

  /** The server of a folder or a file, started at the first call and after it ended. */
  of(target: vscode.Uri): Promise<Served> {
    const key = target.fsPath;
    const known = this.running.get(key) ?? this.start(target);
    this.running.set(key, known);
    known.catch(() => this.running.delete(key));
    return known;
  }

  dispose(): void {
    for (const one of this.processes) {
      one.kill();
    }
  }

  private async start(target: vscode.Uri): Promise<Served> {
    const python = await pythonFor(target);
    const map = Object.entries(sourceMap(target)).map(([from, to]) => `${from}=${to}`);
    const child = spawn(python, ["-m", "kinetoscope", "serve", target.fsPath, "--port", "0"], {
      cwd: vscode.workspace.getWorkspaceFolder(target)?.uri.fsPath,
      env: {
        ...process.env,
        KINETOSCOPE_HOST: "vscode",
        ...(map.length > 0 ? { KINETOSCOPE_SOURCE_MAP: map.join(";") } : {}),
      },
    });
    this.processes.add(child);
    return new Promise((resolve, reject) => {
      let said = "";
      const timer = setTimeout(() => {
        child.kill();
        reject(new Error("kinetoscope did not start within a minute."));
      }, START_MS);
      const hear = (piece: Buffer) => {
        this.log.append(piece.toString());
        said = (said + piece.toString()).slice(-20_000);
        const match = ADDRESS.exec(said);
        if (match?.[1] !== undefined) {
          clearTimeout(timer);
          resolve({ url: match[1], fragment: match[2] ?? "" });
        }
      };
      child.stdout.on("data", hear);
      child.stderr.on("data", hear);
      child.on("error", (error) => reject(new Error(`${python}: ${error.message}`)));
      child.on("exit", () => {
        clearTimeout(timer);
        this.processes.delete(child);
        this.running.delete(target.fsPath);
        const last = said.trim().split("\n").pop() ?? "";
        const needs = last.includes("No module named") || last.includes("viewer");
        const hint = needs ? ` Install it: ${python} -m pip install "kinetoscope[viewer]"` : "";
        reject(new Error(`${last || "kinetoscope ended."}${hint}`));
      });
    });
  }
}
