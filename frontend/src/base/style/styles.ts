/**
 * Styles come as text inside the modules: the host's page cannot link our style sheets, and one
 * request fewer is one flash fewer.
 */

const adopted = new Set<string>();

/** All that was applied, as it was written: a browser's own text of a rule loses `font: var(…)`. */
export const appliedStyles = (): string => [...adopted].join("\n");

/** Applies a style sheet to the document, once. */
export function adoptStyles(css: string): void {
  if (adopted.has(css)) {
    return;
  }
  adopted.add(css);
  try {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  } catch {
    const element = document.createElement("style");
    element.textContent = css;
    document.head.append(element);
  }
}
