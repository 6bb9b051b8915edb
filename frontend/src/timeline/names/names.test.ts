import { describe, expect, it } from "vitest";
import { Advances } from "../../base/text/advances";
import { hashText, labelForms } from "../../base/text/label_forms";
import { NAME_PAGE, NameTable } from "./name_table";

/** Every character is as wide as its place in the alphabet is far; most are 6 px. */
const widths = (text: string) => (text === "…" ? 8 : text === "i" ? 2 : text === "W" ? 11 : 6);
const advances = () => new Advances((text) => [...text].reduce((sum, c) => sum + widths(c), 0));

it.each([
  ["aten::conv2d", ["aten::conv2d", "conv2d"]],
  ["nn.Module: Linear_3", ["Linear_3"]],
  ["autograd::engine::evaluate_function: AddmmBackward0", ["AddmmBackward0"]],
  [
    "torch/nn/modules/module.py(1501): _call_impl",
    ["module.py:1501 _call_impl", "module.py _call_impl", "_call_impl"],
  ],
  [
    "void at::native::elementwise_kernel<128, 4>(int)",
    [
      "at::native::elementwise_kernel<128, 4>(int)",
      "at::native::elementwise_kernel",
      "elementwise_kernel",
    ],
  ],
  ["Memcpy HtoD (Pageable -> Device)", ["Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD"]],
  [
    "<built-in method mm of type object at 0x7f>",
    ["built-in method mm of type object at 0x7f", "mm"],
  ],
  ["ProfilerStep#16", ["ProfilerStep#16"]],
  ["(anonymous)::f", ["(anonymous)::f"]],
  ["", [""]],
])("%s has the labels %j", (name, forms) => {
  expect(labelForms(name)).toEqual(forms);
});

it("long argument lists do not get into a label that has room for the name", () => {
  const name = `void cub::Reduce<${"int, ".repeat(100)}float>(int*)`;
  expect(labelForms(name)).toEqual(["cub::Reduce", "Reduce"]);
});

describe("eliding", () => {
  it("keeps what fits, up to the last px", () => {
    const { elide } = { elide: (text: string, room: number) => advances().elide(text, room) };
    expect(elide("abcdef", 36)).toBe("abcdef");
    expect(elide("abcdef", 35.9)).toBe("abcd…");
    expect(elide("abcdef", 26)).toBe("abc…");
    expect(elide("abcdef", 25)).toBe("");
    expect(elide("", 0)).toBe("");
  });

  it("never leaves half a character or a blank before the ellipsis", () => {
    expect(advances().elide("abc🙂🙂🙂", 38)).toBe("abc🙂…");
    expect(advances().elide("abc🙂🙂🙂", 33)).toBe("abc…");
    expect(advances().elide("abc def", 33)).toBe("abc…");
  });

  it("is as wide as promised for every room", () => {
    const measured = advances();
    const text = "WiiiWiWaten::some_name";
    for (let room = 0; room < 160; room += 0.5) {
      expect(measured.width(measured.elide(text, room))).toBeLessThanOrEqual(room);
    }
  });

  it("takes the longest form that fits whole, else the shortest, elided", () => {
    const forms = ["aten::conv2d", "conv2d"];
    expect(advances().choose(forms, 72)).toBe("aten::conv2d");
    expect(advances().choose(forms, 71)).toBe("conv2d");
    expect(advances().choose(forms, 35)).toBe("conv…");
  });

  it("measures a character once", () => {
    let asked = 0;
    const counting = new Advances((text) => {
      asked += text.length;
      return 6;
    });
    for (let i = 0; i < 100; i += 1) {
      counting.elide("aaaabbbb核核", 100);
    }
    expect(asked).toBe(4);
  });
});

describe("the table of names", () => {
  it("knows names by code as they come", () => {
    const table = new NameTable(NAME_PAGE + 10);
    expect(table.text(3)).toBe("");
    table.put({ first: 0, texts: ["a", "b"] });
    table.put({ first: NAME_PAGE, texts: ["z"] });
    expect([table.text(1), table.text(NAME_PAGE), table.text(10 ** 7)]).toEqual(["b", "z", ""]);
    expect([table.hasPage(0), table.hasPage(1), table.hasPage(2)]).toEqual([true, true, true]);
  });

  it("gives a name the same shade whatever its code, and spreads names over the shades", () => {
    const one = new NameTable(10);
    const other = new NameTable(10);
    one.put({ first: 0, texts: ["aten::mm"] });
    other.put({ first: 7, texts: ["aten::mm"] });
    expect(one.hashes[0]).toBe(other.hashes[7]);
    const shades = new Set(
      Array.from({ length: 40 }, (_, i) => (hashText(`aten::op_${i}`) & 255) % 4),
    );
    expect(shades.size).toBe(4);
  });

  it("remembers a label for as long as its room is the same", () => {
    const table = new NameTable(1);
    table.put({ first: 0, texts: ["aten::conv2d"] });
    const measured = advances();
    expect(table.fitting(0, 100, measured)).toBe("aten::conv2d");
    expect(table.fitting(0, 40, measured)).toBe("conv2d");
    expect(table.fitting(0, 100, measured)).toBe("aten::conv2d");
    expect(table.fitting(5, 100, measured)).toBe("");
  });

  it("highlights some, or all again", () => {
    const table = new NameTable(4);
    table.highlight(new Set([1, 99]));
    expect([...table.isLit]).toEqual([0, 1, 0, 0]);
    table.highlight(null);
    expect([...table.isLit]).toEqual([1, 1, 1, 1]);
  });
});
