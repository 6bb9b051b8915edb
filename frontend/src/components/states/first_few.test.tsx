import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { FirstFew, FirstRows } from "./first_few";

const numbers = (length: number) => Array.from({ length }, (_, place) => `row ${place}`);

function show(length: number, total = length) {
  render(
    <FirstFew items={numbers(length)} total={total} most={8} beyond={<a href="#all">all</a>}>
      {(shown) => shown.map((row) => <p key={row}>{row}</p>)}
    </FirstFew>,
  );
  return userEvent.setup();
}

const rows = () => screen.getAllByText(/^row /).length;

describe("the first few of a list", () => {
  it("opens to the rest and back", async () => {
    const user = show(20);
    expect(rows()).toBe(8);
    await user.click(screen.getByRole("button", { name: "12 more" }));
    expect(rows()).toBe(20);
    await user.click(screen.getByRole("button", { name: "show fewer" }));
    expect(rows()).toBe(8);
  });

  it("says nothing where all of it is shown", () => {
    show(8);
    expect(rows()).toBe(8);
    expect(screen.queryByRole("button")).toBeNull();
    expect(screen.queryByText(/more|beyond/)).toBeNull();
  });

  it("says how many the server did not send, and leads to them", () => {
    show(20, 1_250);
    expect(screen.getByText(/1,230 others/)).toBeDefined();
    expect(screen.getByRole("link", { name: "all" })).toBeDefined();
  });

  it("counts those beyond where the few that came are shown", () => {
    show(5, 6);
    expect(screen.getByText(/^1 more:/)).toBeDefined();
  });
});

describe("the first rows of a list", () => {
  it("stand below headings that say what each figure is", async () => {
    const rows = [
      { name: "aten::add", calls: 3 },
      { name: "aten::mm", calls: 1 },
    ];
    render(
      <FirstRows
        items={rows}
        head="Operator"
        help="What was called."
        keyOf={({ name }) => name}
        nameOf={({ name }) => name}
        figures={[{ head: "Calls", help: "How often.", words: ({ calls }) => `${calls}` }]}
      />,
    );
    const heads = screen.getAllByRole("columnheader").map(({ textContent }) => textContent);
    expect(heads).toEqual(["Operator", "Calls"]);
    expect(screen.queryByRole("row", { name: "aten::add 3" })).not.toBeNull();
    await userEvent.hover(screen.getByText("Calls"));
    expect(screen.getByRole("tooltip").textContent).toBe("How often.");
  });
});
