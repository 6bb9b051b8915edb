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

export const NO_NAME = "(no name)";

/** As a sentence begins. */
export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

export interface NameParts {
  /** Namespace, return type, folder: dim. */
  readonly before: string;
  readonly base: string;
  /** Template arguments and parameters: dim. */
  readonly after: string;
}

const ANONYMOUS = "(anonymous namespace)";

/** Where the arguments begin: the first `<` or `(` that does not belong to a name. */
function argumentsAt(text: string): number {
  for (let i = 0; i < text.length; i += 1) {
    const sign = text.charAt(i);
    if (sign === "(" && text.startsWith(ANONYMOUS, i)) {
      i += ANONYMOUS.length - 1;
    } else if ((sign === "<" || sign === "(") && i > 0) {
      return i;
    }
  }
  return text.length;
}

/** Where the name begins: after a return type with template arguments, `enable_if<…>::type f(…)`. */
function nameAt(text: string): number {
  const open: string[] = [];
  for (let i = 0; i < text.length; i += 1) {
    const sign = text.charAt(i);
    if (sign === "<" || sign === "(") {
      open.push(sign);
    } else if (sign === ")" || (sign === ">" && open.at(-1) === "<")) {
      // A `>` within parentheses compares.
      open.pop();
    } else if (sign === " " && open.length === 0) {
      return text.slice(0, i).includes("<") ? i + 1 : 0;
    }
  }
  return 0;
}

const IDENTIFIER = /^[\w.:-]+$/;
/** Signs at the end of a name that are shown of one that is too long. */
const END_SHOWN = 100;

/** A name without arguments that is too long: generated kernels differ at their ends. */
const endsShown = (name: string): string =>
  `${name.slice(0, SHOWN_MAX - END_SHOWN)}…${name.slice(-END_SHOWN)}`;

const PYTHON = /^(.*\/)?([^/]+\.py\(\d+\): .+)$/s;

/** `void at::native::f<int>(x)` → `void at::native::`, `f`, `<int>(x)`. */
export function nameParts(name: string): NameParts {
  const text = name.length > SHOWN_MAX && IDENTIFIER.test(name) ? endsShown(name) : harmless(name);
  const frame = PYTHON.exec(text);
  if (frame?.[2] !== undefined) {
    return { before: frame[1] ?? "", base: frame[2], after: "" };
  }
  // Arguments end the name: "enumerate(DataLoader)#…" has none.
  const isCall = /[)>]…?$|[)>] const$/.test(text) || text.endsWith("…");
  const from = isCall ? nameAt(text) : 0;
  const rest = text.slice(from);
  const head = rest.slice(0, isCall ? argumentsAt(rest) : rest.length);
  // A name of words, such as "Memcpy HtoD" or "Optimizer.step", is one.
  const at = head.lastIndexOf("::");
  const isQualified = at > 0 && (head.indexOf("::") !== at || head.endsWith(ANONYMOUS, at));
  const start = isQualified ? at + 2 : head.startsWith("void ") ? 5 : 0;
  return {
    before: text.slice(0, from + start),
    base: head.slice(start),
    after: rest.slice(head.length),
  };
}
