/**
 * The views of this page, by stem. One line adds one. Their order and titles come from the server.
 *
 * Each is a chunk of its own, fetched when it is first opened.
 */
import type { ViewStem } from "../api/routes";
import { type Load, late } from "../components/states/late";

export interface PageView {
  readonly stem: ViewStem;
  /** Without a trace, the shell says what is missing instead of opening the view. */
  readonly needsTrace: boolean;
  /** It fills the whole stage, without a margin, and scrolls by itself. */
  readonly isFlush: boolean;
  readonly load: () => Promise<unknown>;
  readonly Content: ReturnType<typeof late>;
}

function view(stem: ViewStem, needsTrace: boolean, load: Load, isFlush = false): PageView {
  return { stem, needsTrace, isFlush, load, Content: late(load) };
}

export const VIEWS: readonly PageView[] = [
  view("overview", true, () => import("./overview")),
  view("operators", true, () => import("./operators")),
  view("kernels", true, () => import("./kernels")),
  view("timeline", true, () => import("./timeline"), true),
  view("memory", true, () => import("./memory")),
  view("modules", true, () => import("./modules")),
  view("compile", true, () => import("./compile")),
  view("speed_of_light", true, () => import("./speed_of_light")),
  view("distributed", true, () => import("./distributed")),
  view("diff", true, () => import("./diff")),
  view("health", false, () => import("./health")),
];
