import {
  type KeyboardEvent,
  type MouseEvent,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
} from "react";
import { canvasRatio } from "../../base/canvas_size";
import { textWidth, useWidth } from "../../base/measure";
import { mix } from "../../base/style/color";
import { Advances } from "../../base/text/advances";
import { nameParts } from "../../base/text/shown_name";
import { useThemeName } from "../../state/host/environment";

/** Where the boxes of a flame graph are: root on top, the width is the value. Pure. */

export interface FlameInput {
  readonly parent: number;
  readonly value: number;
}

/** One box in shares of the whole width. */
export interface Placed {
  /** Index in the input. */
  readonly index: number;
  readonly depth: number;
  readonly x: number;
  readonly width: number;
}

/**
 * Siblings stand in the order of the input, from the left edge of their parent on. Parents come
 * before their children.
 */
export function placeBoxes(boxes: readonly FlameInput[], total: number): readonly Placed[] {
  const used = new Float64Array(boxes.length);
  const placed: Placed[] = [];
  let right = 0;
  boxes.forEach(({ parent, value }, index) => {
    const above = placed[parent];
    const width = total > 0 ? value / total : 0;
    const x = above === undefined ? right : above.x + (used[parent] ?? 0);
    if (above === undefined) {
      right += width;
    } else {
      used[parent] = (used[parent] ?? 0) + width;
    }
    placed.push({ index, depth: above === undefined ? 0 : above.depth + 1, x, width });
  });
  return placed;
}

/** The box at a place, in shares of the width and in levels; null where there is none. */
export function boxAt(placed: readonly Placed[], x: number, depth: number): Placed | null {
  for (const box of placed) {
    if (box.depth === depth && x >= box.x && x < box.x + box.width) {
      return box;
    }
  }
  return null;
}

export type Move = "up" | "down" | "left" | "right";

/** The next box by keyboard: the parent, the first child, the neighbours of one level. */
export function neighbour(
  placed: readonly Placed[],
  boxes: readonly FlameInput[],
  at: number,
  move: Move,
): number {
  const here = placed[at];
  if (here === undefined) {
    return 0;
  }
  if (move === "up") {
    return Math.max(0, boxes[at]?.parent ?? 0);
  }
  if (move === "down") {
    const child = boxes.findIndex((box) => box.parent === at);
    return child < 0 ? at : child;
  }
  const level = placed.filter((box) => box.depth === here.depth).sort((a, b) => a.x - b.x);
  const next = level[level.indexOf(here) + (move === "left" ? -1 : 1)];
  return next?.index ?? at;
}

/** A flame graph on a canvas: root on top, hover, choose, zoom; by keyboard, too. */

export interface FlameBoxShown {
  readonly parent: number;
  readonly name: string;
  readonly kind: string;
  readonly value: number;
}

interface FlameGraphProps {
  readonly label: string;
  readonly boxes: readonly FlameBoxShown[];
  readonly total: number;
  /** What a box says of itself on hover: "aten::mm, 3.2 ms, 12 %". */
  readonly words: (index: number) => string;
  /** The value as it stands in a wide box. */
  readonly valueWords: (value: number) => string;
  /** Names that hold it stay bright. */
  readonly search: string;
  readonly chosen: number | null;
  readonly onChoose: (index: number) => void;
  /** Double click, Enter: this box becomes the whole. */
  readonly onFocus: (index: number) => void;
}

const ROW = 18;
const LABEL_MIN = 26;
const FONT = "11px system-ui, sans-serif";
let advances: Advances | undefined;

interface Ground {
  readonly fill: string;
  readonly ink: string;
}

/** Modules in the accent, other frames grey, ops and launches in their hues. */
function groundOf(kind: string, token: (name: string) => string): Ground {
  const surface = token("--surface");
  const ink = token("--ink");
  const hues: Readonly<Record<string, readonly [string, number]>> = {
    module: ["--accent", 0.24],
    python: ["--ink-3", 0.22],
    annotation: ["--ink-3", 0.32],
    op: ["--k-cpu", 0.88],
    runtime: ["--k-runtime", 0.8],
    kernel: ["--k-compute", 0.55],
  };
  const [hue, share] = hues[kind] ?? ["--ink-3", 0.14];
  const isStrong = kind === "op" || kind === "runtime";
  return {
    fill: mix(token(hue), surface, share),
    ink: isStrong ? "#0d1014" : ink,
  };
}

interface Paint {
  readonly canvas: HTMLCanvasElement;
  readonly width: number;
  readonly placed: readonly Placed[];
  readonly props: FlameGraphProps;
  readonly hovered: number | null;
}

/** The canvas in its size, ready to be drawn on in CSS px. */
function cleared({ canvas, width, placed }: Paint): CanvasRenderingContext2D | null {
  const height = placed.reduce((most, box) => Math.max(most, (box.depth + 1) * ROW), ROW);
  // Very deep stacks are drawn coarser, rather than not at all.
  const ratio = canvasRatio(width, height, window.devicePixelRatio || 1);
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context?.scale(ratio, ratio);
  return context;
}

function paint(job: Paint): void {
  const { width, placed, props, hovered } = job;
  const context = cleared(job);
  if (context === null) {
    return;
  }
  const style = getComputedStyle(document.documentElement);
  const token = (name: string) => style.getPropertyValue(name).trim();
  context.font = FONT;
  context.textBaseline = "middle";
  const grounds = new Map<string, Ground>();
  const search = props.search.toLowerCase();
  for (const { index, depth, x, width: share } of placed) {
    const box = props.boxes[index];
    const wide = share * width - 1;
    if (box !== undefined && wide >= 0.3) {
      const ground = grounds.get(box.kind) ?? groundOf(box.kind, token);
      grounds.set(box.kind, ground);
      const isDim = search !== "" && !box.name.toLowerCase().includes(search);
      context.globalAlpha = isDim ? 0.25 : 1;
      context.fillStyle = ground.fill;
      context.fillRect(x * width, depth * ROW, Math.max(wide, 0.5), ROW - 1);
      if (wide >= LABEL_MIN) {
        label(context, box, x * width, depth * ROW, wide, ground.ink, props.valueWords);
      }
    }
  }
  context.globalAlpha = 1;
  outline(context, job, hovered, token("--ink-2"), 1);
  outline(context, job, props.chosen, token("--accent"), 2);
}

function outline(
  context: CanvasRenderingContext2D,
  { placed, width }: Paint,
  index: number | null,
  color: string,
  line: number,
): void {
  const box = index === null ? undefined : placed[index];
  if (box !== undefined) {
    context.strokeStyle = color;
    context.lineWidth = line;
    const wide = Math.max(box.width * width - 2, 1);
    context.strokeRect(box.x * width + 0.5, box.depth * ROW + 0.5, wide, ROW - 2);
  }
}

function label(
  context: CanvasRenderingContext2D,
  box: FlameBoxShown,
  left: number,
  top: number,
  wide: number,
  ink: string,
  valueWords: (value: number) => string,
): void {
  const room = wide - 8;
  const full = shortName(box);
  advances ??= new Advances((one) => textWidth(one, FONT));
  const text = advances.elide(full, room);
  context.fillStyle = ink;
  context.fillText(text, left + 4, top + ROW / 2);
  const used = textWidth(text, FONT);
  const value = valueWords(box.value);
  if (text === full && room - used > textWidth(value, FONT) + 12) {
    context.globalAlpha *= 0.7;
    context.fillText(value, left + 4 + used + 8, top + ROW / 2);
    context.globalAlpha /= 0.7;
  }
}

/** `nn.Module: Conv2d_0` → `Conv2d_0`, `a/b/train.py(12): step` → `train.py:12 step`. */
export function shortName({ name, kind }: Pick<FlameBoxShown, "name" | "kind">): string {
  if (kind === "module") {
    return name.replace(/^nn\.Module: /, "");
  }
  const { base, before } = nameParts(name);
  return (kind === "op" ? before + base : base).replace(/\((\d+)\): /, ":$1 ");
}

function given(index: number | null, act: (index: number) => void): void {
  if (index !== null) {
    act(index);
  }
}

export function FlameGraph(props: FlameGraphProps) {
  const { boxes, total, label: name, words, chosen, onChoose, onFocus } = props;
  const theme = useThemeName();
  const [frame, width] = useWidth<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [hovered, setHovered] = useState<number | null>(null);
  const id = useId();
  const placed = useMemo(() => placeBoxes(boxes, total), [boxes, total]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme changes the colours that are read
  useEffect(() => {
    if (canvas.current !== null && width > 0) {
      paint({ canvas: canvas.current, width, placed, props, hovered });
    }
  }, [width, placed, props, hovered, theme]);

  const indexAt = (event: MouseEvent) => {
    const at = event.currentTarget.getBoundingClientRect();
    const x = (event.clientX - at.left) / at.width;
    return boxAt(placed, x, Math.floor((event.clientY - at.top) / ROW))?.index ?? null;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const moves = {
      ArrowUp: "up",
      ArrowDown: "down",
      ArrowLeft: "left",
      ArrowRight: "right",
    } as const;
    const move = moves[event.key as keyof typeof moves];
    if (move !== undefined) {
      event.preventDefault();
      onChoose(neighbour(placed, boxes, chosen ?? 0, move));
    } else if (event.key === "Enter" && chosen !== null) {
      event.preventDefault();
      onFocus(chosen);
    }
  };
  const told = hovered ?? chosen;
  return (
    <div ref={frame} className="flame-box">
      <p className="hint flame-words" id={id} aria-live="polite">
        {told === null ? "Point at a box, or walk with the arrow keys; Enter zooms." : words(told)}
      </p>
      <div
        role="application"
        aria-label={name}
        aria-describedby={id}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: walked with the arrow keys
        tabIndex={0}
        onPointerMove={(event) => setHovered(indexAt(event))}
        onPointerLeave={() => setHovered(null)}
        onClick={(event) => given(indexAt(event), onChoose)}
        onDoubleClick={(event) => given(indexAt(event), onFocus)}
        onKeyDown={onKeyDown}
      >
        <canvas ref={canvas} />
      </div>
    </div>
  );
}
