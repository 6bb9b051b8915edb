import { useCallback } from "react";
import type { TakenFile } from "../../../api/client";
import { getPartFile } from "../../../api/routes";
import { fileName, saveBlob } from "../../../base/save";
import { documentTokens } from "../../../base/style/kind_hues";
import { time } from "../../../base/text/format";
import { rulerOf, usePaintRuler } from "../ruler/time_ruler";
import { type TimelineContext, useTimelineContext, viewOf } from "../state/context";
import { openInPerfetto } from "./perfetto";

/** What the user can take away: the window as a trace, the view as a picture, both as promises. */

/** The chosen area, else what is in view: of the first recording. */
function windowOf({ link, moving, sources: [main] }: TimelineContext) {
  const { start, end } = link.area ?? viewOf(moving.frame.get());
  const { start_ns, end_ns } = main.manifest;
  const from = Math.max(Math.round(start), start_ns);
  return { start_ns: from, end_ns: Math.max(Math.min(Math.round(end), end_ns), from + 1) };
}

const AGAIN_MS = 700;
const PATIENCE = 120;

/** The window as the file that the server makes of it; the first time, it reads the trace for that. */
async function fetchWindow(timeline: TimelineContext): Promise<TakenFile> {
  const { sources, link } = timeline;
  const [{ key, digest }] = sources;
  const query = { ...windowOf(timeline), layout: link.layout };
  for (let asked = 0; asked < PATIENCE; asked += 1) {
    const answer = await getPartFile("timeline/export", key, digest, query);
    if (answer.state === "ready") {
      return answer.data;
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
  throw new Error("The trace is still being read: try again in a while.");
}

export interface Export {
  readonly saveTrace: () => Promise<void>;
  readonly savePicture: () => Promise<void>;
  readonly copyPicture: () => Promise<void>;
  readonly openPerfetto: () => Promise<void>;
}

export function useExport(): Export {
  const timeline = useTimelineContext();
  const paintRuler = usePaintRuler(false);
  const picture = useCallback(async () => {
    const { engine, moving, model, sources, palette, whole } = timeline;
    if (engine === null) {
      throw new Error("The timeline is not open yet.");
    }
    const { paintPicture } = await import("./picture");
    const frame = moving.frame.get();
    return paintPicture({
      tracks: await engine.png(),
      frame,
      model,
      main: sources[0],
      palette,
      surface2: documentTokens("--surface-2"),
      isDark: document.documentElement.dataset["theme"] === "dark",
      title: `Whole trace ${time(whole.end - whole.start)}`,
      rulerTitle: rulerOf(timeline, frame).title,
      paintMinimap: moving.paintMinimap.get(),
      paintRuler,
    });
  }, [timeline, paintRuler]);
  return {
    saveTrace: async () => {
      const { blob, name } = await fetchWindow(timeline);
      saveBlob(blob, name || "window.pt.trace.json.gz");
    },
    savePicture: async () => {
      const { key } = timeline.sources[0];
      saveBlob(await picture(), `${fileName(`${key.run}_${key.worker}`)}.png`);
    },
    copyPicture: async () => {
      // Safari wants the promise itself, at the press.
      await navigator.clipboard.write([new ClipboardItem({ "image/png": picture() })]);
    },
    // Not fetched at the press: a window that opens a moment later would be blocked.
    openPerfetto: () =>
      openInPerfetto({
        fetchTrace: async () => (await fetchWindow(timeline)).blob.arrayBuffer(),
        title: `${timeline.sources[0].key.run} · ${timeline.sources[0].key.worker}`,
        fileName: `${fileName(timeline.sources[0].key.worker)}.pt.trace.json.gz`,
      }),
  };
}
