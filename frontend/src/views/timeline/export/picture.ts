/** The view as a picture: minimap, steps, ruler, labels and tracks on one canvas. */

import { harmless } from "../../../base/text/shown_name";
import type { Paint } from "../../../components/charts/live_canvas";
import type { TimelinePalette } from "../../../timeline/contract";
import { stepTitle } from "../ruler/ruler";
import { lengthOf, stepBoxes } from "../ruler/steps_band";
import { CANVAS_FONT } from "../ruler/time_ruler";
import { type Frame, viewOf } from "../state/context";
import type { Source } from "../state/sources";
import { detailOf } from "../tracks/labels";
import type { RowModel } from "../tracks/rows";

const GUTTER = 184;
const MINIMAP = 34;
const STEPS = 20;
const RULER = 18;

export interface PictureParts {
  /** The tracks, as the canvas draws them now. */
  readonly tracks: Blob;
  readonly frame: Frame;
  readonly model: RowModel;
  readonly main: Source;
  readonly palette: TimelinePalette;
  readonly surface2: string;
  readonly isDark: boolean;
  readonly title: string;
  readonly rulerTitle: string;
  readonly paintMinimap: Paint;
  readonly paintRuler: Paint;
}

const HEADS = MINIMAP + STEPS + RULER;

/** A text within a width: measured, cut with an ellipsis. */
function text(context: CanvasRenderingContext2D, words: string, x: number, y: number, max: number) {
  let shown = words;
  while (shown.length > 1 && context.measureText(shown).width > max) {
    shown = `${shown.slice(0, Math.max(1, Math.floor(shown.length * 0.9) - 1))}…`;
  }
  context.fillText(shown, x, y);
}

function paintLabels(context: CanvasRenderingContext2D, parts: PictureParts, width: number): void {
  const { frame, model, palette } = parts;
  for (const { row, top, height } of frame.rows) {
    const info = model.infos.get(row.key);
    if (info === undefined) {
      continue;
    }
    const label = harmless(info.label, 120);
    if (row.type === "heading") {
      // As on the page: what lies on the canvas beneath stays in sight.
      context.fillStyle = palette.background;
      context.fillRect(0, top, GUTTER, height);
      context.fillStyle = parts.isDark ? "rgba(255, 255, 255, 0.045)" : "rgba(20, 24, 31, 0.065)";
      context.fillRect(0, top, width, height);
      context.fillStyle = palette.ink;
      context.font = `600 ${CANVAS_FONT}`;
      text(context, label, 10, top + height / 2, width - 20);
      context.font = CANVAS_FONT;
      continue;
    }
    context.fillStyle = palette.background;
    context.fillRect(0, top, GUTTER, height);
    context.fillStyle = palette.ink;
    text(context, label, 20, top + Math.min(height / 2, 10), GUTTER - 28);
    const detail = detailOf(info);
    if (height >= 30 && detail !== "") {
      context.fillStyle = palette.inkFaint;
      text(context, harmless(detail, 120), 20, top + 25, GUTTER - 28);
    }
    context.fillStyle = palette.line;
    context.fillRect(0, top + height - 1, GUTTER, 1);
  }
}

function paintSteps(context: CanvasRenderingContext2D, parts: PictureParts): void {
  const { frame, main, palette, surface2 } = parts;
  const { start } = viewOf(frame);
  for (const box of stepBoxes(main.manifest.steps, start, frame.camera.nsPerPx, frame.width)) {
    const left = Math.max(0, box.left);
    const width = Math.min(frame.width, box.left + box.width) - left - 1;
    context.fillStyle = surface2;
    context.fillRect(left, 2, Math.max(1, width), 16);
    if (box.count === 1 && width > 40) {
      context.fillStyle = palette.ink;
      text(context, `${stepTitle(box.first)}  ${lengthOf(box.first)}`, left + 6, 10, width - 8);
    }
  }
}

/** Draws at an offset, clipped to its own rectangle. */
function within(
  context: CanvasRenderingContext2D,
  [x, y, width, height]: readonly [number, number, number, number],
  paint: Paint,
): void {
  context.save();
  context.translate(x, y);
  context.beginPath();
  context.rect(0, 0, width, height);
  context.clip();
  paint(context, width, height);
  context.restore();
}

export async function paintPicture(parts: PictureParts): Promise<Blob> {
  const { frame, palette, tracks } = parts;
  const image = await createImageBitmap(tracks);
  const ratio = frame.width > 0 ? image.width / frame.width : 1;
  const width = GUTTER + frame.width;
  const height = HEADS + frame.height;
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  if (context === null) {
    throw new Error("The browser has no canvas for the picture.");
  }
  context.scale(ratio, ratio);
  context.fillStyle = palette.background;
  context.fillRect(0, 0, width, height);
  context.font = CANVAS_FONT;
  context.textBaseline = "middle";
  context.fillStyle = palette.ink;
  text(context, parts.title, 8, MINIMAP / 2, GUTTER - 16);
  text(context, "Steps", 8, MINIMAP + STEPS / 2, GUTTER - 16);
  text(context, parts.rulerTitle, 8, MINIMAP + STEPS + RULER / 2, GUTTER - 16);
  within(context, [GUTTER, 0, frame.width, MINIMAP], parts.paintMinimap);
  within(context, [GUTTER, MINIMAP, frame.width, STEPS], () => paintSteps(context, parts));
  within(context, [GUTTER, MINIMAP + STEPS, frame.width, RULER], parts.paintRuler);
  context.drawImage(image, GUTTER, HEADS, frame.width, frame.height);
  within(context, [0, HEADS, width, frame.height], () => paintLabels(context, parts, width));
  context.fillStyle = palette.hatch;
  context.fillRect(GUTTER, 0, 1, height);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) =>
      blob === null ? reject(new Error("The picture could not be made.")) : resolve(blob),
    );
  });
}
