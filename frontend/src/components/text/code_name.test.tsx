import { render } from "@testing-library/react";
import { expect, it } from "vitest";
import { CodeName } from "./code_name";

const partsOf = (name: string) =>
  [...(render(<CodeName name={name} />).container.firstElementChild?.children ?? [])].map(
    ({ className, textContent }) => [className, textContent],
  );

it("cuts a folder that is shortened already at its start, where the sign for it is", () => {
  expect(partsOf("…/models/x.py(7): f")).toEqual([
    ["dim from-end", "…/models/"],
    ["base", "x.py(7): f"],
  ]);
  expect(partsOf("/repo/models/x.py(7): f")[0]).toEqual(["dim", "/repo/models/"]);
});

it("shows a short name in place of the whole, which is on hover", () => {
  const name = "void at::native::f<4, at::native::Add<float> >(int)";
  const { container } = render(<CodeName name={name} short="f<Add>" />);
  const shown = container.firstElementChild;
  expect(shown?.textContent).toBe("f<Add>");
  expect(shown?.getAttribute("title")).toBe(name);
  expect(shown?.querySelector(".args")?.textContent).toBe("<Add>");
});
