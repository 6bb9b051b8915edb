/** The keys of the address that are not one view's own. */
export const globalKeys: ReadonlySet<string> = new Set([
  "view",
  "run",
  "worker",
  "span",
  "steps",
  "device",
]);
