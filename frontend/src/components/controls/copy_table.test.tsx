import { render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it, vi } from "vitest";
import { CopyRows, CopyTable } from "./copy_table";

const COUNT = 2_500;

function windowOf(offset: number, limit: number) {
  const length = Math.max(0, Math.min(limit, COUNT - offset));
  return { rows: Array.from({ length }, (_, place) => offset + place), count: COUNT };
}

const toTable = (rows: readonly number[]) => ({ header: ["n"], rows: rows.map((row) => [row]) });

describe("saving a table", () => {
  it("writes one object a row, under the name of the table", async () => {
    const saved: [Blob, string][] = [];
    vi.spyOn(URL, "createObjectURL").mockImplementation((blob) => {
      saved.push([blob as Blob, ""]);
      return "blob:here";
    });
    const clicked = vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(function (
      this: HTMLAnchorElement,
    ) {
      saved.push([saved[0]?.[0] as Blob, this.download]);
    });
    const user = userEvent.setup();
    const table = () => ({ header: ["name", "ns"], rows: [["a", 1] as const, ["=b", 2] as const] });
    render(<CopyTable label="the longest gaps" table={table} />);
    await user.click(screen.getByRole("button", { name: "Copy or save the longest gaps" }));
    await user.click(screen.getByRole("menuitem", { name: /Save as JSON/ }));
    expect(saved[1]?.[1]).toBe("longest_gaps.json");
    expect(JSON.parse((await saved[0]?.[0].text()) ?? "")).toEqual([
      { name: "a", ns: 1 },
      { name: "=b", ns: 2 },
    ]);
    clicked.mockRestore();
    vi.restoreAllMocks();
  });
});

describe("copying a table that the server holds", () => {
  it("copies every row, however many answers they take", async () => {
    const user = userEvent.setup();
    const ask = vi.fn(async (offset: number, limit: number) => windowOf(offset, limit));
    render(<CopyRows label="rows" ask={ask} toTable={toTable} />);
    await user.click(screen.getByRole("button", { name: "Copy or save rows" }));
    await screen.findByText("2,500 rows");
    await user.click(screen.getByRole("menuitem", { name: /Copy as CSV/ }));
    const text = await navigator.clipboard.readText();
    expect(text.trim().split(/\r?\n/)).toHaveLength(COUNT + 1);
    expect(ask.mock.calls.map(([offset]) => offset)).toEqual([0, 1000, 2000]);
  });

  it("waits until all of them are there, and says when they cannot be had", async () => {
    const user = userEvent.setup();
    const ask = vi.fn(async (offset: number, limit: number) => {
      if (offset > 0) {
        throw new Error("gone");
      }
      return windowOf(offset, limit);
    });
    render(<CopyRows label="rows" ask={ask} toTable={toTable} />);
    await user.click(screen.getByRole("button", { name: "Copy or save rows" }));
    await waitFor(() => expect(screen.getByText(/could not be fetched/)).toBeDefined());
    expect(screen.getByRole("menuitem", { name: /Copy as CSV/ })).toHaveProperty("disabled", true);
  });
});
