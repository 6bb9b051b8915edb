/** Files and pictures for the user to take away. */

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
