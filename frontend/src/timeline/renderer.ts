/** Draws the state of the timeline through a camera onto its surface. */

import { Advances } from "../base/text/advances";
import { snappedStart } from "./camera/camera";
import type { Camera, TimelinePalette } from "./contract";
import { type ArrowPath, arrowPaths } from "./draw/arrows";
import { drawOverlay, isNothingOver } from "./draw/overlay";
import { makePaint, type Paint } from "./draw/paint";
import { Picture } from "./draw/picture";
import type { OverlayScene } from "./draw/scene";
import type { State } from "./state";
import type { Surface } from "./surface";

const FONT_PX = 11;
const FALLBACK_FAMILY = "sans-serif";

export class Renderer {
  /** Where arrows are, for clicks. */
  paths: readonly ArrowPath[] = [];
  private readonly picture: Picture | null;
  private paint: Paint;
  private advances: Advances;
  private family = FALLBACK_FAMILY;
  private isOverlayEmpty = true;

  constructor(
    private readonly surface: Surface,
    private readonly state: State,
    palette: TimelinePalette,
  ) {
    this.picture = surface.picture === null ? null : new Picture(surface.picture);
    this.paint = makePaint(palette, this.normalize);
    this.advances = this.readFont();
  }

  get bitmapBytes(): number {
    return this.picture?.bytes ?? 0;
  }

  setPalette(palette: TimelinePalette): void {
    this.paint = makePaint(palette, this.normalize);
    this.advances = this.readFont();
    for (const { names } of this.state.sources.values()) {
      names.forgetLabels();
    }
  }

  /** The picture and what lies over it. */
  drawAll(camera: Camera, frame: number, mostLabels: number): void {
    const scene = this.scene(camera, frame, mostLabels);
    this.picture?.draw(scene);
    this.drawOver(scene);
  }

  /** Only what lies over the picture. */
  drawOverlay(camera: Camera, frame: number): void {
    this.drawOver(this.scene(camera, frame, 0));
  }

  private drawOver(scene: OverlayScene): void {
    const { overlay } = this.surface;
    this.paths = arrowPaths(scene, scene.arrows);
    const isEmpty = isNothingOver(scene);
    // A canvas that is not touched need not be composed anew.
    if (overlay !== null && !(isEmpty && this.isOverlayEmpty)) {
      // Here the unit is the CSS px.
      drawOverlay(overlay, { ...scene, font: `${FONT_PX}px ${this.family}` }, this.paths);
    }
    this.isOverlayEmpty = isEmpty;
  }

  scene(camera: Camera, frame: number, mostLabels: number): OverlayScene {
    const { size } = this.surface;
    return {
      ...size,
      camera: { ...camera, start: snappedStart(camera, size.dpr) },
      pinned: this.state.pinned,
      rows: this.state.rows,
      paint: this.paint,
      advances: this.advances,
      font: `${FONT_PX * size.dpr}px ${this.family}`,
      steps: this.state.steps,
      origin: this.state.origin,
      frame,
      mostLabels,
      hover: this.state.hover,
      selection: this.state.selection,
      area: this.state.area,
      measure: this.state.measure,
      zoomBand: this.state.zoomBand,
      arrows: this.state.arrows,
      markers: this.state.markers,
    };
  }

  /** The canvas writes back a colour in the same form whichever way it was given. */
  private readonly normalize = (color: string): string => {
    const { overlay } = this.surface;
    if (overlay === null) {
      return color;
    }
    overlay.fillStyle = "#808080";
    overlay.fillStyle = color;
    return overlay.fillStyle;
  };

  private readFont(): Advances {
    this.family = getComputedStyle(this.surface.element).fontFamily || FALLBACK_FAMILY;
    const { overlay } = this.surface;
    const font = `${FONT_PX}px ${this.family}`;
    return new Advances((text) => {
      if (overlay === null) {
        return text.length * 6;
      }
      overlay.font = font;
      return overlay.measureText(text).width;
    });
  }
}
