/** The flame graph on a canvas: hovered, pressed, and walked by arrows. */
import {
  type KeyboardEvent,
  type MouseEvent,
  type PointerEvent,
  useMemo,
  useRef,
  useState,
} from "react";
import type { FlameAnswer } from "../../api/types.gen";
import { count, plural, share, time } from "../../base/format";
import { harmless } from "../../base/shown_name";
import { matches } from "../../components/option_list";
import { type Cell, cell } from "../../state/cell";
import {
  boxAt,
  FLAME_ROW,
  type FlameBox,
  type FlameTree,
  paintFlame,
  viewOfBox,
  walkedBox,
} from "./flame";
import type { Link } from "./link_state";
import { LiveCanvas } from "./live_canvas";
import { useStage } from "./stage_context";
import { CANVAS_FONT } from "./time_ruler";

export const flameValue = (unit: string) => (value: number) =>
  unit === "ns" ? time(value) : count(value);

/** Boxes whose name the search finds; null without a search. */
function foundBoxes({ boxes }: FlameTree, { find, match }: Link): ReadonlySet<number> | null {
  if (find === "") {
    return null;
  }
  const isHit = matcher(find, match);
  return new Set(
    boxes.flatMap((box) =>
      box !== undefined && [...box.above, box.node].some(({ text }) => isHit(text))
        ? [box.index]
        : [],
    ),
  );
}

function matcher(find: string, match: Link["match"]): (text: string) => boolean {
  if (match === "exact") {
    return (text) => text === find;
  }
  // The server's regular expressions are not the browser's: by its words is near enough here.
  return (text) =>
    matches(text, match === "regex" ? find.replaceAll(/[^\w:. ]+/g, " ").trim() : find);
}

function spokenBox(
  { node, above }: FlameBox,
  total: number,
  words: (value: number) => string,
): string {
  const inside = above.length === 0 ? "" : `${plural(above.length, "call")} around it, `;
  const part = share(node.value / Math.max(1, total));
  return `${harmless(node.text, 200)}, ${inside}${words(node.value)}, ${part}, self ${words(node.self_value)}, ${plural(node.slices, "slice")}`;
}

interface GraphProps {
  readonly answer: FlameAnswer;
  readonly tree: FlameTree;
  readonly focus: number;
  readonly onFocus: (box: number) => void;
}

export function FlameGraph({ answer, tree, focus, onFocus }: GraphProps) {
  const { palette, link, actions } = useStage();
  const scroll = useRef<HTMLDivElement>(null);
  const [scrolled] = useState<Cell<number>>(() => cell(0));
  const [active, setActive] = useState(-1);
  const found = useMemo(() => foundBoxes(tree, link), [tree, link]);
  const view = viewOfBox(tree.boxes[focus]);
  const words = flameValue(answer.unit);

  const at = (event: PointerEvent | MouseEvent): FlameBox | null => {
    const area = scroll.current;
    if (area === null) {
      return null;
    }
    const { left, top } = area.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top + area.scrollTop];
    return boxAt(tree, view, area.clientWidth, x, y);
  };
  const reveal = (box: number) => {
    const area = scroll.current;
    const y = (tree.boxes[box]?.depth ?? 0) * FLAME_ROW;
    if (area === null) {
      return;
    }
    const { scrollTop, clientHeight } = area;
    if (y < scrollTop || y > scrollTop + clientHeight - FLAME_ROW) {
      area.scrollTop = y - clientHeight / 2;
    }
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const to = walkedBox(tree, active, event.key);
    if (to !== null) {
      setActive(to);
      reveal(to);
    } else if (event.key === "Enter" && active >= 0) {
      onFocus(active === focus ? -1 : active);
    } else if (event.key === "Escape" && focus >= 0) {
      onFocus(-1);
    } else if (!event.key.startsWith("Arrow")) {
      return;
    }
    event.preventDefault();
  };
  const box = tree.boxes[active];
  const said = box === undefined ? "" : spokenBox(box, tree.total, words);
  return (
    <>
      <div
        ref={scroll}
        className="tl-flame"
        role="application"
        aria-label={`Flame graph, ${plural(answer.nodes.length, "call")}. Arrows walk, Enter shows one alone, Escape all.`}
        aria-describedby="tl-flame-said"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it takes keys
        tabIndex={0}
        onScroll={(event) => scrolled.set(event.currentTarget.scrollTop)}
        onKeyDown={onKeyDown}
        onPointerMove={(event) => setActive(at(event)?.index ?? -1)}
        onPointerLeave={() => setActive(-1)}
        onClick={(event) => {
          const hit = at(event);
          onFocus(hit === null || hit.index === focus ? -1 : hit.index);
        }}
        onDoubleClick={(event) => {
          const hit = at(event);
          if (hit !== null) {
            actions.find(hit.node.text, "exact");
          }
        }}
      >
        <div className="tl-flame-sheet">
          <LiveCanvas
            aria-hidden="true"
            cells={[scrolled]}
            paint={(context, width, height) =>
              paintFlame(context, width, height, {
                tree,
                view,
                palette,
                font: CANVAS_FONT,
                scrollY: scrolled.get(),
                active,
                found,
                valueText: words,
              })
            }
          />
        </div>
        <div style={{ height: Math.max(0, tree.rows.length * FLAME_ROW) }} />
      </div>
      <p id="tl-flame-said" className="tl-foot hint clip" aria-live="polite">
        {said === "" ? `${words(answer.total)} in all · press a box to see it alone` : said}
      </p>
    </>
  );
}
