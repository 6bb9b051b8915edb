import { readFileSync } from "node:fs";
import { join } from "node:path";
import { render, screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { ProblemNote } from "./problem_note";

it("has the padding of a body in a panel without one", () => {
  render(<ProblemNote problem={new Error("It is gone.")} again={() => undefined} />);
  expect(screen.getByRole("alert").classList).toContain("problem");
  const pageCss = readFileSync(join(import.meta.dirname, "../../base/style/css/page.css"), "utf8");
  expect(pageCss).toMatch(/\.panel > \.problem,\s*\.panel > \.body \{\s*padding/);
});
