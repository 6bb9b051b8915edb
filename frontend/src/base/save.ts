/** Files for the user to take away, and parts of the page as pictures. */

import { appliedStyles } from "./style/styles";

/** Saves bytes under a name. */
export function saveBlob(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** A name that every file system takes. */
export const fileName = (text: string): string =>
  text.replaceAll(/[^A-Za-z0-9._-]+/g, "_").slice(0, 100) || "trace";

/** A copy of an element that draws alone: canvases as images, without what only a pointer needs. */
function stillOf(element: Element): HTMLElement {
  const copy = element.cloneNode(true) as HTMLElement;
  const drawn = element.querySelectorAll("canvas");
  for (const [place, canvas] of copy.querySelectorAll("canvas").entries()) {
    const source = drawn[place];
    const image = document.createElement("img");
    image.src = source?.toDataURL() ?? "";
    image.style.cssText = `${canvas.style.cssText};width:${source?.clientWidth}px;height:${source?.clientHeight}px`;
    image.className = canvas.className;
    canvas.replaceWith(image);
  }
  for (const control of copy.querySelectorAll(".panel-controls, .tools-end")) {
    control.remove();
  }
  copy.style.margin = "0";
  return copy;
}

/** The element among copies of those around it, so that rules of the style sheets find it. */
function surrounded(element: Element): HTMLElement {
  let inner = stillOf(element);
  for (let at = element.parentElement; at !== null && at !== document.body; at = at.parentElement) {
    const around = at.cloneNode(false) as HTMLElement;
    around.removeAttribute("id");
    around.style.cssText = "display:contents";
    around.append(inner);
    inner = around;
  }
  const body = document.createElement("body");
  body.style.cssText = "margin:0;background:var(--surface)";
  body.append(inner);
  return body;
}

/** As sharp as screens are, but no larger than browsers allow a canvas to be. */
const SCALE = 2;

/** A part of the page as a picture, in the colours in which it is shown. */
export async function pictureOf(element: Element): Promise<Blob> {
  const { width, height } = element.getBoundingClientRect();
  const ns = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(ns, "svg");
  svg.setAttribute("width", `${Math.max(innerWidth, width)}`);
  svg.setAttribute("height", `${Math.max(innerHeight, height)}`);
  svg.setAttribute("data-theme", document.documentElement.dataset["theme"] ?? "light");
  const style = document.createElementNS(ns, "style");
  style.textContent = appliedStyles();
  const inside = document.createElementNS(ns, "foreignObject");
  inside.setAttribute("width", `${width}`);
  inside.setAttribute("height", `${height}`);
  inside.append(surrounded(element));
  svg.append(style, inside);
  const text = new XMLSerializer().serializeToString(svg);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(width * SCALE);
  canvas.height = Math.ceil(height * SCALE);
  const context = canvas.getContext("2d");
  context?.scale(SCALE, SCALE);
  context?.drawImage(image, 0, 0);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) =>
      blob === null ? reject(new Error("The picture could not be made.")) : resolve(blob),
    );
  });
}
