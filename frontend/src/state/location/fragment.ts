/**
 * The state of the page as the fragment of an address.
 *
 * Alone: `#view=overview&run=a`. Inside TensorBoard the fragment belongs to TensorBoard: the piece
 * without `=` is the chosen tab, and our keys are `p.<plugin>.<key>`, beside those of others.
 */

export type Values = Readonly<Record<string, string>>;
export type Patch = Readonly<Record<string, string | undefined>>;

/** `plugin` null: the page stands alone. */
export interface Dialect {
  readonly plugin: string | null;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function pieces(fragment: string): string[] {
  return fragment
    .replace(/^#/, "")
    .split("&")
    .filter((piece) => piece !== "");
}

function split(piece: string): [string, string] {
  const at = piece.indexOf("=");
  return at < 0 ? [decode(piece), ""] : [decode(piece.slice(0, at)), decode(piece.slice(at + 1))];
}

const prefixOf = (dialect: Dialect) => (dialect.plugin === null ? "" : `p.${dialect.plugin}.`);

/** Our values out of a fragment. */
export function parseFragment(fragment: string, dialect: Dialect): Values {
  const prefix = prefixOf(dialect);
  const values: Record<string, string> = {};
  for (const piece of pieces(fragment)) {
    const [key, value] = split(piece);
    if (piece.includes("=") && key.startsWith(prefix)) {
      values[key.slice(prefix.length)] = value;
    }
  }
  return values;
}

/** The chosen tab of TensorBoard; null when none is named. */
export function chosenTab(fragment: string): string | null {
  const tab = pieces(fragment).find((piece) => !piece.includes("="));
  return tab === undefined ? null : decode(tab);
}

/** The fragment with our values in place of our old ones; what is not ours stays as it is. */
export function formatFragment(fragment: string, values: Values, dialect: Dialect): string {
  const prefix = prefixOf(dialect);
  const others =
    dialect.plugin === null ? [] : pieces(fragment).filter((piece) => piece.includes("="));
  const kept = others.filter((piece) => !split(piece)[0].startsWith(prefix));
  const tab = dialect.plugin === null ? [] : [encodeURIComponent(dialect.plugin)];
  const ours = Object.entries(values)
    .filter(([, value]) => value !== "")
    .map(([key, value]) => `${encodeURIComponent(prefix + key)}=${encodeURIComponent(value)}`);
  const text = [...tab, ...kept, ...ours].join("&");
  return text === "" ? "" : `#${text}`;
}

/** Values after a change; an undefined or empty value is taken out. */
export function patched(values: Values, patch: Patch): Values {
  const next: Record<string, string> = { ...values };
  for (const [key, value] of Object.entries(patch)) {
    if (value === undefined || value === "") {
      delete next[key];
    } else {
      next[key] = value;
    }
  }
  return next;
}

export function sameValues(a: Values, b: Values): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}
