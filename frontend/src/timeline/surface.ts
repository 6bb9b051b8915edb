/** Two canvases of the size of an element: the picture, and what lies over it. */

export interface Size {
  /** In CSS px. */
  readonly width: number;
  readonly height: number;
  readonly dpr: number;
  /** In device px. */
  readonly deviceWidth: number;
  readonly deviceHeight: number;
}

const NOTHING: Size = { width: 0, height: 0, dpr: 1, deviceWidth: 0, deviceHeight: 0 };
/** More device px than this are no sharper to the eye, only slower. */
const LARGEST_DPR = 3;

export class Surface {
  size: Size = NOTHING;
  readonly picture: CanvasRenderingContext2D | null;
  readonly overlay: CanvasRenderingContext2D | null;
  private readonly canvases: readonly [HTMLCanvasElement, HTMLCanvasElement];
  private readonly observer: ResizeObserver;
  private resolution: MediaQueryList | null = null;

  constructor(
    readonly element: HTMLElement,
    private readonly onSize: () => void,
  ) {
    if (getComputedStyle(element).position === "static") {
      element.style.position = "relative";
    }
    this.canvases = [makeCanvas(), makeCanvas()];
    element.prepend(...this.canvases);
    this.picture = this.canvases[0].getContext("2d", { alpha: false });
    this.overlay = this.canvases[1].getContext("2d");
    this.observer = new ResizeObserver(this.measure);
    this.observer.observe(element);
    this.watchResolution();
    this.takeSize();
  }

  /** TensorBoard hides frames by their height; then there is nothing to draw on. */
  get isVisible(): boolean {
    return this.size.deviceWidth > 0 && this.size.deviceHeight > 0;
  }

  close(): void {
    this.observer.disconnect();
    this.resolution?.removeEventListener("change", this.onResolution);
    for (const canvas of this.canvases) {
      canvas.remove();
    }
  }

  /** Both layers as one picture. */
  async png(): Promise<Blob> {
    const sheet = document.createElement("canvas");
    sheet.width = this.size.deviceWidth;
    sheet.height = this.size.deviceHeight;
    const context = sheet.getContext("2d");
    for (const canvas of this.canvases) {
      context?.drawImage(canvas, 0, 0);
    }
    return new Promise((resolve, reject) => {
      sheet.toBlob((blob) => {
        if (blob === null) {
          reject(new Error("The picture is too large for this browser."));
        } else {
          resolve(blob);
        }
      }, "image/png");
    });
  }

  private readonly measure = (): void => {
    if (this.takeSize()) {
      this.onSize();
    }
  };

  /** Fits the canvases to the element; true when its size is another one. */
  private takeSize(): boolean {
    const { size } = this;
    const width = this.element.clientWidth;
    const height = this.element.clientHeight;
    const dpr = Math.min(LARGEST_DPR, window.devicePixelRatio || 1);
    if (width === size.width && height === size.height && dpr === size.dpr) {
      return false;
    }
    const deviceWidth = Math.round(width * dpr);
    const deviceHeight = Math.round(height * dpr);
    this.size = { width, height, dpr, deviceWidth, deviceHeight };
    if (this.isVisible) {
      for (const canvas of this.canvases) {
        canvas.width = deviceWidth;
        canvas.height = deviceHeight;
        canvas.style.width = `${deviceWidth / dpr}px`;
        canvas.style.height = `${deviceHeight / dpr}px`;
      }
    }
    return true;
  }

  /** The window moved to another screen, or the browser's zoom changed. */
  private readonly onResolution = (): void => {
    this.watchResolution();
    this.measure();
  };

  private watchResolution(): void {
    this.resolution?.removeEventListener("change", this.onResolution);
    this.resolution = window.matchMedia(`(resolution: ${window.devicePixelRatio || 1}dppx)`);
    this.resolution.addEventListener("change", this.onResolution);
  }
}

function makeCanvas(): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.setAttribute("aria-hidden", "true");
  Object.assign(canvas.style, { position: "absolute", left: "0", top: "0", display: "block" });
  return canvas;
}
