import { render } from "@testing-library/react";
import { expect, it } from "vitest";
import { Prose } from "./prose";

const html = (text: string) => render(<Prose text={text} />).container.innerHTML;

it("sets code between backticks", () => {
  expect(html("Call `loss.item()` less, and `x` never.")).toBe(
    'Call <code class="whole">loss.item()</code> less, and <code class="whole">x</code> never.',
  );
});

it("keeps short code on one line", () => {
  const short = "a.py(7): forward";
  const long = "activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]";
  expect(html(`\`${short}\``)).toBe(`<code class="whole">${short}</code>`);
  expect(html(`\`${long}\``)).toBe(`<code>${long}</code>`);
});

it("leaves an odd backtick as it is", () => {
  expect(html("`a` and ` alone")).toBe(`<code class="whole">a</code> and \` alone`);
  expect(html("it`s")).toBe("it`s");
});

it("keeps hostile names text", () => {
  const { container } = render(<Prose text={"<img src=x onerror=alert(1)> `<b>k</b>`"} />);
  expect(container.querySelector("img, b")).toBeNull();
  expect(container.textContent).toBe("<img src=x onerror=alert(1)> <b>k</b>");
});
