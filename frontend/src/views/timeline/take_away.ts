/** Files and pictures for the user to take away. */

/** Saves bytes under a name. */
export function saveBlob(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  saveUrl(url, name);
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Lets the browser download an address. */
export function saveUrl(url: string, name: string): void {
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
}

/** A name that every file system takes. */
export const fileName = (text: string): string =>
  text.replaceAll(/[^A-Za-z0-9._-]+/g, "_").slice(0, 100) || "trace";
