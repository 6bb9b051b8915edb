import { expect, it } from "vitest";
import { firstSentence } from "./sentences";

it("ends a sentence before a capital, a number or code, and not inside of code or numbers", () => {
  expect(firstSentence("It takes 5.3 ms. Then it ends.")).toEqual([
    "It takes 5.3 ms.",
    "Then it ends.",
  ]);
  expect(firstSentence("Call `a. B()`, e.g. twice. `c` helps.")).toEqual([
    "Call `a. B()`, e.g. twice.",
    "`c` helps.",
  ]);
  expect(firstSentence("One alone.")).toEqual(["One alone.", ""]);
});
