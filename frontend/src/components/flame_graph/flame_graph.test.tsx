import { fireEvent, render, screen } from "@testing-library/react";
import { type ReactNode, useState } from "react";
import { beforeEach, expect, it, vi } from "vitest";
import type { Flame, FlameNode } from "../../api/types.gen";
import { FlameGraph } from "./flame_graph";
import { FLAME_ROW } from "./layout";

const box = (node: number, parent: number, name: string, value: number): FlameNode => ({
  node,
  parent,
  name,
  kind: "op",
  value,
  self_value: value,
  count: 2,
  boxes: node < 0 ? 4 : 1,
  short: "",
  note: "",
});

vi.mock("../../state/host/environment", () => ({ useThemeName: () => "light" }));

/**
 *  main ─────────────────────────── 100
 *  forward ─── 60 │ load 25 │ … 10
 *  conv 40
 */
const NODES = [
  box(0, -1, "main", 100),
  box(7, 0, "forward", 60),
  box(9, 1, "conv", 40),
  box(3, 0, "load", 25),
  box(-1, 0, "…", 10),
];
const FLAME: Flame = {
  unit: "count",
  total: 100,
  nodes: NODES,
  merged: 4,
  missing: "",
  left_out: [],
  in_order: false,
};
const WIDTH = 1000;

const said = { focus: [] as (number | null)[], chosen: [] as (string | null)[] };

/** It keeps what is zoomed to, as the views do. */
function Holder({ flame }: { flame: Flame }) {
  const [focus, setFocus] = useState<number | null>(null);
  return (
    <FlameGraph
      flame={flame}
      counted="call"
      focus={focus}
      onFocus={(node) => {
        said.focus.push(node);
        setFocus(node);
      }}
      onChoose={(node) => said.chosen.push(node?.name ?? null)}
      isHit={null}
    />
  );
}

beforeEach(() => {
  said.focus = [];
  said.chosen = [];
  vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(WIDTH);
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(400);
});

const graph = () => screen.getByRole("application", { name: /^Flame graph/ });
const words = () => document.querySelector(".flame-words")?.textContent?.replaceAll("\u00a0", " ");
const at = (x: number, row: number) => ({ clientX: x, clientY: row * FLAME_ROW + 5 });
const press = (key: string) => fireEvent.keyDown(graph(), { key });

it("chooses on a click, and zooms on a double click alone", () => {
  render(<Holder flame={FLAME} />);
  fireEvent.click(graph(), at(100, 1));
  expect(said).toEqual({ focus: [], chosen: ["forward"] });
  expect(words()).toBe("forward · 60, 60.0 % · self 60 · 2 calls");
  fireEvent.doubleClick(graph(), at(100, 1));
  expect(said.focus).toEqual([7]);
  // What is in focus takes the whole width.
  fireEvent.click(graph(), at(600, 2));
  expect(said.chosen.at(-1)).toBe("conv");
  expect(words()).toBe("conv · 40, 40.0 % (66.7 % of forward) · self 40 · 2 calls");
});

it("says how many boxes the one of the small ones stands for", () => {
  render(<Holder flame={FLAME} />);
  fireEvent.click(graph(), at(900, 1));
  expect(words()).toBe("… · 4 boxes too small to see, with all inside them · 10, 10.0 % · 2 calls");
});

it("is walked, zoomed and left by keys", () => {
  render(<Holder flame={FLAME} />);
  for (const key of ["ArrowDown", "ArrowDown", "ArrowRight", "ArrowLeft", "Enter"]) {
    press(key);
  }
  expect(said.chosen).toEqual(["main", "forward", "load", "forward"]);
  expect(said.focus).toEqual([7]);
  press("ArrowRight"); // nothing beside it is in view
  expect(said.chosen.at(-1)).toBe("forward");
  press("Escape");
  expect(said.focus).toEqual([7, null]);
  press("Escape");
  expect(said.chosen.at(-1)).toBeNull();
});

it("has its sentence and its tools in one line, unless the view has tools of its own", () => {
  const graphWith = (tools?: ReactNode) => (
    <FlameGraph
      flame={FLAME}
      counted="call"
      focus={null}
      onFocus={() => {}}
      isHit={null}
      {...(tools === undefined ? {} : { tools })}
    />
  );
  const isBesideTools = () => document.querySelector(".tool-row > .flame-words") !== null;
  const { rerender } = render(graphWith());
  expect(isBesideTools()).toBe(true);
  rerender(graphWith(<button type="button">Both sides</button>));
  expect(isBesideTools()).toBe(false);
  expect(words()).toMatch(/^100 in all/);
});

it("leaves to the page what is the page's", () => {
  render(<Holder flame={FLAME} />);
  // fireEvent says false of a press that somebody has handled.
  expect(press("/")).toBe(true);
  expect(press("Escape")).toBe(true);
  expect(press("ArrowDown")).toBe(false);
});

it("has no way into what stands for several", () => {
  render(<Holder flame={FLAME} />);
  fireEvent.doubleClick(graph(), at(900, 1));
  expect(said.focus).toEqual([]);
});

it("shows the way to what is in focus, and back", () => {
  render(<Holder flame={FLAME} />);
  fireEvent.doubleClick(graph(), at(100, 2));
  expect(screen.getByRole("navigation").textContent).toBe("Show all› main› forward› conv");
  fireEvent.click(screen.getByRole("button", { name: "› forward" }));
  expect(said.focus).toEqual([9, 7]);
  fireEvent.click(screen.getByRole("button", { name: "Show all" }));
  expect(said.focus.at(-1)).toBeNull();
});

it("keeps the choice when the boxes in focus come in more detail", () => {
  const { rerender } = render(<Holder flame={FLAME} />);
  fireEvent.click(graph(), at(100, 2));
  const finer = [
    box(0, -1, "main", 100),
    box(7, 0, "forward", 60),
    box(8, 1, "relu", 2),
    box(9, 1, "conv", 40),
  ];
  rerender(<Holder flame={{ ...FLAME, nodes: finer }} />);
  expect(words()).toMatch(/^conv · 40/);
});
