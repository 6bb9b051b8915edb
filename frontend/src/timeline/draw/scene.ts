/** Everything a frame is drawn from. */

import type { Advances } from "../../base/text/advances";
import type { Area, Camera, Hit, Marker, PlacedSlice, TimelineArrow } from "../contract";
import type { Plan } from "../rows/plan";
import type { Paint } from "./paint";

export interface Scene {
  /** Of the canvas, in CSS px. */
  readonly width: number;
  readonly height: number;
  readonly dpr: number;
  /** Of the canvas, in device px. */
  readonly deviceWidth: number;
  readonly deviceHeight: number;
  /** As drawn: its left edge lies on a whole device px. */
  readonly camera: Camera;
  readonly pinned: Plan;
  readonly rows: Plan;
  readonly paint: Paint;
  readonly advances: Advances;
  readonly font: string;
  readonly steps: readonly number[];
  readonly origin: number;
  /** Number of this frame. */
  readonly frame: number;
  readonly mostLabels: number;
}

/** What lies over the picture. */
export interface OverlayScene extends Scene {
  readonly hover: Hit | null;
  readonly selection: PlacedSlice | null;
  readonly area: Area | null;
  readonly measure: Area | null;
  readonly zoomBand: Area | null;
  readonly arrows: readonly TimelineArrow[];
  readonly markers: readonly Marker[];
}

/** Pinned rows end here; nothing when there are none. */
export const pinnedHeight = (scene: Pick<Scene, "pinned">): number => scene.pinned.stack.height;
