/**
 * An editor that shows the page in a frame. It says hello; from then on the page tells it which line
 * to open, and takes its theme and the place to show. Messages go to the window around ours, to the
 * origin that said hello, and to no other. Who may frame the page is the server's policy.
 */
import type { Environment, ThemeName } from "./environment";

const PROTOCOL = 1;

type FromEditor =
  | { readonly type: "hello" }
  | { readonly type: "theme"; readonly theme: ThemeName }
  | { readonly type: "reveal"; readonly values: Readonly<Record<string, string>> };

type ToEditor =
  | { readonly type: "ready" }
  | { readonly type: "open"; readonly path: string; readonly line: number };

let post: ((message: ToEditor) => void) | null = null;

/** Whether an editor has said hello. */
export const hasEditor = (): boolean => post !== null;

/** Has the editor open a line, which counts from 1; false where there is no editor. */
export function openInEditor(path: string, line: number): boolean {
  post?.({ type: "open", path, line: Math.max(1, line) });
  return post !== null;
}

const isOurs = (data: unknown): data is FromEditor =>
  typeof data === "object" &&
  data !== null &&
  "kinetoscope" in data &&
  data.kinetoscope === PROTOCOL;

/** The texts among the values of a message. */
const textsOf = (values: unknown): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(values ?? {}).filter(
      (pair): pair is [string, string] => typeof pair[1] === "string",
    ),
  );

export function listenToEditor(view: Window, { address, theme }: Environment): () => void {
  const hear = ({ data, source, origin }: MessageEvent<unknown>) => {
    if (source !== view.parent || view.parent === view || !isOurs(data)) {
      return;
    }
    if (data.type === "hello") {
      // A webview whose origin is none can be told only without one.
      const target = origin === "null" ? "*" : origin;
      post = (message) => view.parent.postMessage({ kinetoscope: PROTOCOL, ...message }, target);
      post({ type: "ready" });
    } else if (data.type === "theme") {
      theme.follow(data.theme === "dark" ? "dark" : "light");
    } else {
      address.navigate(textsOf(data.values));
    }
  };
  view.addEventListener("message", hear);
  return () => {
    view.removeEventListener("message", hear);
    post = null;
  };
}
