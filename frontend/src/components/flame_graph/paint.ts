/** How a flame graph is painted: hue by kind, lightness by name, as everywhere on the page. */
import type { FlameNode } from "../../api/types.gen";
import { textWidth } from "../../base/measure";
import { mix } from "../../base/style/color";
import { KIND, type KindPaint, kindPaints, type Tokens } from "../../base/style/kind_hues";
import { Advances } from "../../base/text/advances";
import { hashText, labelForms } from "../../base/text/label_forms";
import { harmless } from "../../base/text/shown_name";
import { edges, FLAME_ROW, type FlameBox, type FlameTree, type FlameView } from "./layout";

const FONT = '11px system-ui, "Segoe UI", Roboto, "Liberation Sans", sans-serif';
const LABEL_PX = 24;
const LEAST_PX = 0.6;
const GAP_PX = 8;

/** Kinds of the answers by their words; what is not here is "other". */
const KINDS: Readonly<Record<string, number>> = {
  ...KIND,
  device_other: KIND.deviceOther,
  device_annotation: KIND.deviceAnnotation,
  kernel: KIND.compute,
};

export const kindNumber = (kind: string): number => KINDS[kind] ?? KIND.other;

export interface FlameColors {
  readonly kinds: readonly KindPaint[];
  readonly ink: string;
  readonly accent: string;
  /** Of what stands for several. */
  readonly rest: string;
  readonly plain: string;
  readonly tints: Readonly<Record<Tint, string>>;
}

export const flameColors = (tokens: Tokens): FlameColors => ({
  kinds: kindPaints(tokens),
  ink: tokens("--ink"),
  accent: tokens("--accent"),
  rest: tokens("--line-strong"),
  plain: tokens("--surface-3"),
  tints: { "--better": tokens("--better"), "--worse": tokens("--worse") },
});

/** Instead of its kind, what a box is coloured by: a token, from 0 (none of it) to 1. */
export type FlameTint = (node: FlameNode) => { readonly token: Tint; readonly strength: number };
type Tint = "--better" | "--worse";

export interface FlamePicture {
  readonly tree: FlameTree;
  readonly view: FlameView;
  readonly colors: FlameColors;
  readonly scrollY: number;
  /** Indexes of boxes; −1 = none. */
  readonly hovered: number;
  readonly chosen: number;
  /** Boxes that a search found; null = none is searched. */
  readonly found: ReadonlySet<number> | null;
  readonly valueText: (value: number) => string;
  readonly tint?: FlameTint | undefined;
}

export function paintFlame(
  context: CanvasRenderingContext2D,
  width: number,
  height: number,
  picture: FlamePicture,
): void {
  const { tree, scrollY } = picture;
  context.font = FONT;
  context.textBaseline = "middle";
  const first = Math.max(0, Math.floor(scrollY / FLAME_ROW));
  const last = Math.min(tree.rows.length, Math.ceil((scrollY + height) / FLAME_ROW) + 1);
  for (let depth = first; depth < last; depth += 1) {
    // What is too thin to see leaves one thin mark for all of its kind.
    let painted = -1;
    for (const box of tree.rows[depth] ?? []) {
      const place = edges(box, picture.view, width);
      if (place !== null && place[1] > painted + LEAST_PX) {
        painted = place[1];
        paintBox(context, box, place, depth * FLAME_ROW - scrollY, picture);
      }
    }
  }
}

/** The fill of a box, and the ink of what it says. */
function colorOf(
  one: FlameNode,
  colors: FlameColors,
  tint: FlameTint | undefined,
): { readonly fill: string; readonly ink: string } {
  const { node, kind, name } = one;
  if (tint !== undefined && node >= 0) {
    const { token, strength } = tint(one);
    // At most so much that the ink of the page can be read on it.
    return { fill: mix(colors.tints[token], colors.plain, 0.55 * strength), ink: colors.ink };
  }
  const paint = node < 0 ? undefined : colors.kinds[kindNumber(kind)];
  const { fills, inks } = paint ?? { fills: [], inks: [] };
  const pick = fills.length > 0 ? hashText(name) % fills.length : 0;
  return { fill: fills[pick] ?? colors.rest, ink: inks[pick] ?? colors.ink };
}

function paintBox(
  context: CanvasRenderingContext2D,
  { node, above, index, depth }: FlameBox,
  [left, right]: readonly [number, number],
  y: number,
  { colors, hovered, chosen, found, view, valueText, tint }: FlamePicture,
): void {
  const { fill, ink } = colorOf(node, colors, tint);
  const isDim = (found !== null && !found.has(index)) || depth < view.depth;
  const width = Math.max(1, right - left - (right - left > 3 ? 1 : 0));
  context.globalAlpha = isDim ? 0.35 : 1;
  context.fillStyle = fill;
  context.fillRect(left, y, width, FLAME_ROW - 1);
  context.globalAlpha = 1;
  const outline = index === chosen ? colors.accent : index === hovered ? colors.ink : null;
  if (outline !== null) {
    context.strokeStyle = outline;
    context.lineWidth = 2;
    context.strokeRect(left + 1, y + 1, Math.max(1, width - 2), FLAME_ROW - 3);
  }
  if (width > LABEL_PX) {
    context.fillStyle = isDim ? colors.ink : ink;
    paintLabel(context, labelsOf(above, node), valueText(node.value), left + 4, width - 8, y);
  }
}

const known = new WeakMap<FlameNode, readonly string[]>();

/** The name of a node, the longest form first. */
function formsOf(node: FlameNode): readonly string[] {
  const forms = known.get(node) ?? labelForms(harmless(node.short || node.name));
  known.set(node, forms);
  return forms;
}

/** What a box may say, the longest first. */
function labelsOf(above: readonly FlameNode[], node: FlameNode): readonly string[] {
  const own = formsOf(node);
  if (above.length === 0) {
    return own;
  }
  const chain = [...above, node].map((one) => formsOf(one)[0]);
  return [chain.join(" › "), `${chain[0]} › … › ${own[0]}`, ...own];
}

let advances: Advances | undefined;

function paintLabel(
  context: CanvasRenderingContext2D,
  forms: readonly string[],
  value: string,
  x: number,
  room: number,
  top: number,
): void {
  advances ??= new Advances((text) => textWidth(text, FONT));
  const y = top + FLAME_ROW / 2;
  const valueWidth = advances.width(value) + GAP_PX;
  const isFull = forms.some((form) => (advances?.width(form) ?? 0) + valueWidth <= room);
  const text = advances.choose(forms, isFull ? room - valueWidth : room);
  context.fillText(text, x, y);
  if (isFull) {
    context.globalAlpha = 0.75;
    context.fillText(value, x + advances.width(text) + GAP_PX, y);
    context.globalAlpha = 1;
  }
}
