import { act, fireEvent, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { plainTable } from "../../base/text/delimited";
import { useSorted } from "./rows";
import { type Column, DataTable, numberColumn, placed, tracksOf } from "./table";

interface Op {
  readonly name: string;
  readonly ns: number;
  /** In the tree: how deep, and whether something lies in it. */
  readonly depth: number;
  readonly isParent: boolean;
}

const op = (name: string, ns: number, depth = 0, isParent = false): Op => ({
  name,
  ns,
  depth,
  isParent,
});
const OPS = [op("mm", 7), op("conv", 9), op("add", 5)];
const COLUMNS: readonly Column<Op>[] = [
  { key: "name", head: "Operator", sort: ({ name }) => name, cell: ({ name }) => name },
  numberColumn("ns", "Time", ({ ns }) => ns, {
    sort: ({ ns }) => ns,
    unit: "ns",
    help: "On the host",
  }),
  { key: "depth", head: "Depth", help: "Calls around it", cell: ({ depth }) => depth },
];
const toPlain = plainTable<Op>(["name", "ns", ["calls_around", ({ depth }) => depth]]);

beforeEach(() => {
  // As high as ten rows: without layout nothing would be in sight.
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(29 + 10 * 25);
});

const common = {
  label: "Ops",
  columns: COLUMNS,
  keyOf: ({ name }: Op) => name,
  toPlain,
  empty: "None.",
};
const names = () =>
  [...document.querySelectorAll("[data-row]")].map((row) => row.firstChild?.textContent);
const focused = () => document.activeElement?.getAttribute("data-row");
const press = (key: string, more = {}) =>
  fireEvent.keyDown(document.activeElement ?? document.body, { key, ...more });
const focusRow = (at: number) =>
  act(() => document.querySelector<HTMLElement>(`[data-row="${at}"]`)?.focus());

it("shows what gets the focus in a cell, which the first column may lie above", () => {
  const shown: unknown[] = [];
  HTMLElement.prototype.scrollIntoView = function (this: HTMLElement) {
    shown.push(this.textContent);
  };
  const button = (key: string): Column<Op> => ({
    key,
    head: key,
    cell: ({ name }) => <button type="button">{`${key} of ${name}`}</button>,
  });
  render(
    <DataTable
      {...common}
      columns={[button("name"), button("role")]}
      rows={OPS}
      sorting={null}
      onSort={() => {}}
    />,
  );
  act(() => screen.getByRole("button", { name: "role of conv" }).focus());
  act(() => screen.getByRole("button", { name: "name of conv" }).focus());
  focusRow(0);
  expect(shown).toEqual(["role of conv"]);
  Reflect.deleteProperty(HTMLElement.prototype, "scrollIntoView");
});

it("has the main figures behind the name where not all columns fit", () => {
  const keys = (room: number) =>
    placed(
      [...COLUMNS, numberColumn<Op>("change", "Change", ({ ns }) => ns, { isMain: true })],
      room,
    ).map(({ key }) => key);
  expect(keys(1000)).toEqual(["name", "ns", "depth", "change"]);
  expect(keys(200)).toEqual(["name", "change", "ns", "depth"]);
  expect(keys(0)).toEqual(["name", "ns", "depth", "change"]);
});

it("keeps room for names where not all columns fit", () => {
  const [name, ...others] = COLUMNS;
  const least = (room: number, grow: number) =>
    name === undefined ? "" : /\d+/.exec(tracksOf([{ ...name, grow }, ...others], room))?.[0];
  expect(least(1000, 4)).toBe(least(0, 4));
  expect(least(200, 4)).toBe("72");
  expect(least(200, 1)).toBe(least(0, 1));
});

function Sorted({ ops }: { ops: readonly Op[] }) {
  return <DataTable {...common} {...useSorted(ops, COLUMNS, null)} />;
}

/** One row at a time is open. */
function Opening({ ops }: { ops: readonly Op[] }) {
  const [opened, setOpened] = useState("");
  return (
    <DataTable
      {...common}
      rows={ops}
      sorting={null}
      onSort={() => {}}
      expanded={({ name }) => name === opened}
      onExpand={({ name }, isOpen) => setOpened(isOpen ? name : "")}
      detail={({ name }) => <p>All of {name}</p>}
    />
  );
}

describe("sorting", () => {
  it("begins with the largest number and with the first name, and turns round", async () => {
    const user = userEvent.setup();
    render(<Sorted ops={OPS} />);
    expect(names()).toEqual(["mm", "conv", "add"]);
    await user.click(screen.getByRole("button", { name: /Time/ }));
    expect(names()).toEqual(["conv", "mm", "add"]);
    const head = screen.getByRole("columnheader", { name: /Time/ });
    expect(head.getAttribute("aria-sort")).toBe("descending");
    await user.click(screen.getByRole("button", { name: /Operator/ }));
    expect(names()).toEqual(["add", "conv", "mm"]);
    expect(head.getAttribute("aria-sort")).toBeNull();
    await user.click(screen.getByRole("button", { name: /Operator/ }));
    expect(names()).toEqual(["mm", "conv", "add"]);
  });

  it("is no choice where a column has no order", () => {
    render(<Sorted ops={OPS} />);
    expect(screen.queryByRole("button", { name: /Depth/ })).toBeNull();
  });
});

describe("what a heading means", () => {
  it("is told on focus, whether it sorts or not, and is no part of its name", async () => {
    render(<Sorted ops={OPS} />);
    await userEvent.tab();
    expect(document.activeElement?.textContent).toBe("Operator");
    expect(screen.queryByRole("tooltip")).toBeNull();
    for (const [words, help] of [
      ["Time ns", "On the host"],
      ["Depth", "Calls around it"],
    ]) {
      await userEvent.tab();
      const focused = document.activeElement;
      const tip = screen.getByRole("tooltip");
      expect(focused?.textContent).toBe(words);
      expect(tip.textContent).toBe(help);
      expect(focused?.getAttribute("aria-describedby")).toBe(tip.id);
    }
    expect(screen.getByRole("button", { name: "Time ns" })).toBeTruthy();
  });

  it("is told to a pointer, and goes with it or with Esc", async () => {
    render(<Sorted ops={OPS} />);
    const head = screen.getByRole("button", { name: "Time ns" });
    await userEvent.hover(head);
    expect(screen.getByRole("tooltip").textContent).toBe("On the host");
    await userEvent.unhover(head);
    expect(screen.queryByRole("tooltip")).toBeNull();
    act(() => head.focus());
    await userEvent.keyboard("{Escape}");
    expect(screen.queryByRole("tooltip")).toBeNull();
    expect(document.activeElement).toBe(head);
  });
});

describe("keys", () => {
  const many = Array.from({ length: 5000 }, (_, at) => op(`op${at}`, at));

  it("move one row, a page, to either end; one row takes the Tab key", () => {
    render(<Sorted ops={many} />);
    const stops = () => document.querySelectorAll("tbody [tabindex='0']").length;
    focusRow(0);
    const walk = (key: string) => {
      press(key);
      return [focused(), stops()];
    };
    expect(walk("ArrowDown")).toEqual(["1", 1]);
    expect(walk("ArrowUp")).toEqual(["0", 1]);
    expect(walk("ArrowUp")).toEqual(["0", 1]);
    expect(walk("PageDown")).toEqual(["10", 1]);
    expect(walk("End")).toEqual(["4999", 1]);
    expect(walk("PageUp")).toEqual(["4989", 1]);
    expect(walk("Home")).toEqual(["0", 1]);
    expect(document.querySelectorAll("[data-row]").length).toBeLessThan(60);
  });

  it("reach what is in sight: rows drawn ahead hold nothing to press", () => {
    render(<Sorted ops={many} />);
    const isAhead = (at: number) =>
      document.querySelector(`[data-row="${at}"]`)?.closest(".ahead") !== null;
    expect([0, 9, 12, 19].map(isAhead)).toEqual([false, false, true, true]);
  });

  it("open and close a row", () => {
    render(<Opening ops={OPS} />);
    focusRow(1);
    const shown = () => document.querySelector(".dt-detail")?.textContent ?? "";
    for (const [key, text] of [
      ["Enter", "All of conv"],
      ["Enter", ""],
      ["ArrowRight", "All of conv"],
      ["ArrowRight", "All of conv"],
      ["Escape", ""],
      [" ", "All of conv"],
      ["ArrowLeft", ""],
    ]) {
      press(key ?? "");
      expect(shown(), key).toBe(text);
    }
    expect(screen.getByRole("treegrid").getAttribute("aria-rowcount")).toBe("4");
    // What the table has no use for is left to the page: fireEvent says true of it.
    expect([press("Escape"), press("ArrowLeft"), press("/")]).toEqual([true, true, true]);
  });

  it("choose a row, as a click does", () => {
    const onChoose = vi.fn();
    render(
      <DataTable
        {...common}
        rows={OPS}
        sorting={null}
        onSort={() => {}}
        onChoose={({ name }) => onChoose(name)}
        isChosen={({ name }) => name === "mm"}
      />,
    );
    focusRow(2);
    press("Enter");
    fireEvent.click(screen.getByText("conv"));
    expect(onChoose.mock.calls).toEqual([["add"], ["conv"]]);
    expect(screen.getByRole("row", { selected: true }).textContent).toContain("mm");
    expect(screen.getByRole("grid")).toBeDefined();
  });

  it("copy the row in full precision", async () => {
    userEvent.setup();
    render(<Sorted ops={OPS} />);
    focusRow(1);
    press("c", { ctrlKey: true });
    await screen.findByText("Row copied");
    expect(await navigator.clipboard.readText()).toBe("conv\t9\t0");
  });
});

describe("a tree", () => {
  const TREE = [
    op("main", 9, 0, true),
    op("forward", 6, 1, true),
    op("conv", 4, 2),
    op("load", 1, 1),
  ];

  function Tree() {
    const [closed, setClosed] = useState<readonly string[]>([]);
    return (
      <DataTable
        {...common}
        rows={closed.includes("forward") ? TREE.filter(({ name }) => name !== "conv") : TREE}
        sorting={null}
        onSort={() => {}}
        expanded={({ name, isParent }) => (isParent ? !closed.includes(name) : undefined)}
        onExpand={({ name }, isOpen) => setClosed(isOpen ? [] : [name])}
        levelOf={({ depth }) => depth}
      />
    );
  }

  it("is walked inside and outside, and folded", () => {
    render(<Tree />);
    expect(names()).toEqual(["▾main", "▾forward", "▸conv", "▸load"]);
    focusRow(3);
    const walk = (key: string) => {
      press(key);
      return focused();
    };
    expect([walk("ArrowLeft"), walk("ArrowRight"), walk("ArrowRight")]).toEqual(["0", "1", "2"]);
    expect(walk("ArrowRight")).toBe("2");
    expect(walk("ArrowLeft")).toBe("1");
    press("ArrowLeft");
    expect(names()).toEqual(["▾main", "▸forward", "▸load"]);
    const row = screen.getByRole("row", { name: /forward/ });
    expect([row.getAttribute("aria-level"), row.getAttribute("aria-expanded")]).toEqual([
      "2",
      "false",
    ]);
  });
});

it("says what it waits for, and what an empty one means", () => {
  const table = (isOld: boolean) => (
    <DataTable {...common} rows={[]} sorting={null} onSort={() => {}} isOld={isOld} />
  );
  const { rerender } = render(table(true));
  expect(screen.getByText("Reading…")).toBeDefined();
  rerender(table(false));
  expect(screen.getByText("None.")).toBeDefined();
});
