/** The colours of what memory holds: a set of its own, never in one chart with time. */
import type { MemoryCategory } from "../../api/types.gen";
import { mix, parseHex } from "../../base/style/color";
import { type KindPaint, paintOf, type Tokens } from "../../base/style/kind_hues";

const TOKENS: Readonly<Record<MemoryCategory, string>> = {
  parameter: "--m-param",
  optimizer: "--m-optim",
  input: "--m-input",
  communication: "--m-comm",
  unknown: "--m-unknown",
  gradient: "--m-grad",
  autograd: "--m-autograd",
  activation: "--m-act",
  temporary: "--m-temp",
};

/** Names without a category of their own: lightness steps of one hue. */
const STEPS = ["--h5", "--h3", "--h4", "--h2"] as const;
const BOX_SHARES = [1, 0.93, 0.86];

export const isCategory = (key: string): key is MemoryCategory => Object.hasOwn(TOKENS, key);

/** Token of a layer of the curve: of a category, or of a module by its place in the stack. */
export function layerToken(key: string, place: number): string {
  if (isCategory(key)) {
    return TOKENS[key];
  }
  return key === "" ? "--m-unknown" : (STEPS[place % STEPS.length] ?? "--h4");
}

/** Fills of boxes of a category in lightness steps, with an ink that can be read on each. */
export const boxPaint = (category: MemoryCategory, tokens: Tokens): KindPaint =>
  paintOf({ token: TOKENS[category], shares: BOX_SHARES }, tokens, parseHex(tokens("--surface")));

/** The fill of the curve where it is not divided. */
export const totalFill = (tokens: Tokens) => mix(tokens("--h4"), tokens("--surface"), 0.45);
