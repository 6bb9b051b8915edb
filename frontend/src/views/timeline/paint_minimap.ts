/** Draws the whole trace in a strip: host above, devices below, hits beneath, and what is in view. */

import type { TimelineManifest } from "../../api/types.gen";
import type { TimelinePalette } from "../../timeline/contract";
import type { MinimapTrack } from "../../timeline/frame/minimap";
import type { BusyGroups } from "./host_busy";
import { KIND } from "./kinds";
import type { Range } from "./link";
import type { Density } from "./search_state";
import type { Source } from "./sources";

/** One band of the strip: how busy one group is, column by column, 0 … 1. */
export interface Band {
  readonly source: Source;
  readonly isDevice: boolean;
  readonly busy: Float32Array;
}

/** The busiest stream of a device stands for it in each column: streams run side by side. */
export function deviceBusy(
  manifest: TimelineManifest,
  tracks: readonly MinimapTrack[],
): BusyGroups {
  const groups = new Map<number, Float32Array>();
  for (const { track, busy } of tracks) {
    const known = manifest.tracks[track];
    if (known?.kind === "stream") {
      const band = groups.get(known.group) ?? new Float32Array(busy.length);
      groups.set(known.group, band);
      busy.forEach((value, i) => {
        band[i] = Math.max(band[i] ?? 0, value / 255);
      });
    }
  }
  return groups;
}

export interface WholePicture {
  readonly bands: readonly Band[];
  readonly densities: readonly Density[];
  readonly whole: Range;
  readonly palette: TimelinePalette;
  readonly hitColor: string;
}

export interface FramePicture {
  readonly whole: Range;
  readonly view: Range;
  readonly palette: TimelinePalette;
  readonly veil: string;
}

interface Place {
  readonly top: number;
  readonly height: number;
}

/** Hosts share the upper half as bars upwards, devices the lower one; alone, each takes both. */
function placeOf(band: Band, bands: readonly Band[], height: number): Place {
  const alike = bands.filter((other) => other.isDevice === band.isDevice);
  const hasBoth = alike.length < bands.length;
  const room = height - 5;
  const half = hasBoth ? room / 2 : room;
  const each = half / alike.length;
  const base = hasBoth && band.isDevice ? half : 0;
  return { top: 1 + base + alike.indexOf(band) * each, height: each };
}

/** What stays while the camera moves: how busy each group is, and where the hits are. */
export function paintWhole(
  context: CanvasRenderingContext2D,
  width: number,
  height: number,
  { bands, densities, hitColor, whole, palette }: WholePicture,
): void {
  const scale = width / (whole.end - whole.start);
  const x = (at: number) => (at - whole.start) * scale;
  for (const band of bands) {
    paintBand(context, band, placeOf(band, bands, height), palette, x);
  }
  paintHits(context, densities, hitColor, height, x);
}

/** What is in view, and a veil over the rest. */
export function paintFrame(
  context: CanvasRenderingContext2D,
  width: number,
  height: number,
  { whole, view, palette, veil }: FramePicture,
): void {
  const scale = width / (whole.end - whole.start);
  const x = (at: number) => (at - whole.start) * scale;
  const left = Math.min(Math.max(x(view.start), 0), width - 2);
  const right = Math.max(Math.min(x(view.end), width), left + 2);
  context.fillStyle = veil;
  context.fillRect(0, 0, left, height);
  context.fillRect(right, 0, width - right, height);
  context.strokeStyle = palette.accent;
  context.lineWidth = 1;
  context.strokeRect(left + 0.5, 0.5, Math.max(1, right - left - 1), height - 1);
  context.fillStyle = palette.accent;
  context.fillRect(left - 2, height / 2 - 7, 5, 14);
  context.fillRect(right - 3, height / 2 - 7, 5, 14);
}

/** The busiest of the columns that a pixel stands for: what is short stays visible. */
function highest(busy: Float32Array, px: number, pixels: number): number {
  const first = Math.floor((px * busy.length) / pixels);
  const last = Math.max(first + 1, Math.ceil(((px + 1) * busy.length) / pixels));
  let high = 0;
  for (let i = first; i < last; i += 1) {
    high = Math.max(high, busy[i] ?? 0);
  }
  return high;
}

/** Too thin for bars, a band tells by opacity how busy it is. */
const THIN_PX = 6;

function paintBand(
  context: CanvasRenderingContext2D,
  { source, isDevice, busy }: Band,
  { top, height }: Place,
  palette: TimelinePalette,
  x: (at: number) => number,
): void {
  const from = x(source.manifest.start_ns + source.offset);
  const pixels = Math.max(1, Math.round(x(source.manifest.end_ns + source.offset) - from));
  const isThin = height < THIN_PX;
  context.fillStyle = palette.kinds[isDevice ? KIND.compute : KIND.op]?.fills[0] ?? palette.ink;
  context.globalAlpha = isDevice ? 0.85 : 0.6;
  for (let px = 0; px < pixels; px += 1) {
    const high = highest(busy, px, pixels);
    if (high > 0 && isThin) {
      context.globalAlpha = 0.25 + 0.75 * high;
      context.fillRect(from + px, top, 1, height - 0.5);
    } else if (high > 0) {
      const h = Math.max(1, high * (height - 1));
      context.fillRect(from + px, isDevice ? top : top + height - h, 1, h);
    }
  }
  context.globalAlpha = 1;
}

function paintHits(
  context: CanvasRenderingContext2D,
  densities: readonly Density[],
  hitColor: string,
  height: number,
  x: (at: number) => number,
): void {
  context.fillStyle = hitColor;
  for (const { source, columns } of densities) {
    const { start_ns, end_ns } = source.manifest;
    const column = (end_ns - start_ns) / Math.max(1, columns.length);
    columns.forEach((hits, i) => {
      if (hits > 0) {
        const at = x(start_ns + source.offset + i * column);
        context.fillRect(at, height - 4, Math.max(1, x(column) - x(0)), 4);
      }
    });
  }
}
