/** The first sentence of a text and the rest. A full stop inside code, between backticks, ends none. */
export function firstSentence(text: string): readonly [first: string, rest: string] {
  for (const { index } of text.matchAll(/[.!?](?=\s+[\p{Lu}\d`])/gu)) {
    const first = text.slice(0, index + 1);
    if (first.split("`").length % 2 === 1) {
      return [first, text.slice(index + 1).trimStart()];
    }
  }
  return [text, ""];
}
