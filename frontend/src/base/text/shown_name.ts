/** Names from traces as they are shown: parted into what matters and what does not, and harmless. */

/** Longer names are cut on the screen; what is copied is the whole. */
const SHOWN_MAX = 300;

// Text that turns the direction of what follows would turn the page around it.
const DIRECTION = /[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/g;

/** Control characters as their pictures, no turning of direction, not too long. */
export function harmless(text: string, max = SHOWN_MAX): string {
  const cut = text.length > max ? `${text.slice(0, max)}…` : text;
  return [...cut.replaceAll(DIRECTION, "�")]
    .map((sign) => {
      const code = sign.codePointAt(0) ?? 0;
      return code < 32 ? String.fromCodePoint(0x2400 + code) : code === 127 ? "␡" : sign;
    })
    .join("");
}

export interface NameParts {
  /** Namespace, return type, folder: dim. */
  readonly before: string;
  readonly base: string;
  /** Template arguments and parameters: dim. */
  readonly after: string;
}

/** Where the arguments begin: the first `<` or `(` that does not belong to a name. */
function argumentsAt(text: string): number {
  for (let i = 0; i < text.length; i += 1) {
    const sign = text.charAt(i);
    if (sign === "(" && text.startsWith("(anonymous namespace)", i)) {
      i += "(anonymous namespace)".length - 1;
    } else if ((sign === "<" || sign === "(") && i > 0) {
      return i;
    }
  }
  return text.length;
}

const PYTHON = /^(.*\/)?([^/]+\.py\(\d+\): .+)$/s;

/** `void at::native::f<int>(x)` → `void at::native::`, `f`, `<int>(x)`. */
export function nameParts(name: string): NameParts {
  const text = harmless(name);
  const frame = PYTHON.exec(text);
  if (frame?.[2] !== undefined) {
    return { before: frame[1] ?? "", base: frame[2], after: "" };
  }
  // Arguments end the name: "enumerate(DataLoader)#…" has none.
  const end =
    /[)>]…?$|[)>] const$/.test(text) || text.endsWith("…") ? argumentsAt(text) : text.length;
  const head = text.slice(0, end);
  // A name of words, such as "Memcpy HtoD" or "Optimizer.step", is one.
  const at = head.lastIndexOf("::");
  const isQualified = at > 0 && head.indexOf("::") !== at;
  const start = isQualified ? at + 2 : head.startsWith("void ") ? 5 : 0;
  return { before: head.slice(0, start), base: head.slice(start), after: text.slice(end) };
}
