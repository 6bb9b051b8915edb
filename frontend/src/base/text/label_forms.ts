/**
 * Names as labels: the whole name where it fits, else without what is least telling, and the base
 * name at last. In full they are for the shell.
 */

/** From the longest form to the shortest; the first that fits is drawn. */
export type LabelForms = readonly [string, ...string[]];

const PYTHON_FRAME = /^(.*?)\((\d+)\): (.+)$/s;
const BUILT_IN = /^<built-in (?:method|function) ([^\s>]+)[^>]*>$/;
const PREFIXES = /^(?:autograd::engine::evaluate_function: |nn\.Module: |void )/;

export function labelForms(name: string): LabelForms {
  const plain = name.replace(PREFIXES, "");
  const frame = PYTHON_FRAME.exec(plain);
  if (frame !== null) {
    const [, path = "", line = "", callee = ""] = frame;
    const file = path.slice(path.lastIndexOf("/") + 1);
    return distinct([`${file}:${line} ${callee}`, `${file} ${callee}`, callee]);
  }
  const builtIn = BUILT_IN.exec(plain);
  if (builtIn !== null) {
    return distinct([plain.slice(1, -1), builtIn[1] ?? plain]);
  }
  const bare = withoutArguments(plain);
  const base = baseName(bare);
  return distinct([plain.length <= 64 ? plain : bare, bare, base]);
}

/** `ns::f<int, 2>(float*)` → `ns::f`: what stands before the first bracket, if that is a name. */
export function withoutArguments(name: string): string {
  const open = name.search(/[<(]/);
  const bare = open > 0 ? name.slice(0, open).trimEnd() : name;
  // "Memcpy HtoD (Pageable -> Device)" and "operator()" keep what is in brackets.
  return /^[\w:~.$*]+(?: [\w:~.$*]+)?$/.test(bare) && !bare.endsWith("operator") ? bare : name;
}

/** The last part of a qualified name: `aten::conv2d` → `conv2d`. */
export function baseName(bare: string): string {
  if (/[\s(<]/.test(bare)) {
    return bare;
  }
  const at = bare.lastIndexOf("::");
  return at >= 0 && at + 2 < bare.length ? bare.slice(at + 2) : bare;
}

function distinct(forms: readonly [string, ...string[]]): LabelForms {
  const [first, ...rest] = forms;
  return [first, ...rest.filter((form, i) => form !== "" && form !== forms[i])];
}

/** A number that depends on the text alone, so that a name looks the same in every trace. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  }
  // The low bits of the product alone are uneven.
  return (hash ^ (hash >>> 15)) >>> 0;
}
