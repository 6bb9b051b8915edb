import { expect, it } from "vitest";
import { harmless, nameParts } from "./shown_name";

it.each([
  ["aten::conv2d", ["", "aten::conv2d", ""]],
  [
    "void at::native::(anonymous namespace)::f<int, 2>(float*)",
    ["void at::native::(anonymous namespace)::", "f", "<int, 2>(float*)"],
  ],
  [
    "void (anonymous namespace)::f<int, 2>(float*)",
    ["void (anonymous namespace)::", "f", "<int, 2>(float*)"],
  ],
  [
    "std::enable_if<((8)>(0))&&v<c10::Half>::exists, void>::type vllm::ops::f<c10::Half, 8>(long)",
    [
      "std::enable_if<((8)>(0))&&v<c10::Half>::exists, void>::type vllm::ops::",
      "f",
      "<c10::Half, 8>(long)",
    ],
  ],
  ["cudnn::detail::dgrad_engine<float, 512>", ["cudnn::detail::", "dgrad_engine", "<float, 512>"]],
  [
    "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096>)",
    ["", "ncclDevKernel_Generic", "(ncclDevKernelArgsStorage<4096>)"],
  ],
  [
    "torch/nn/modules/module.py(1501): _call_impl",
    ["torch/nn/modules/", "module.py(1501): _call_impl", ""],
  ],
  ["Memcpy HtoD (Pageable -> Device)", ["", "Memcpy HtoD ", "(Pageable -> Device)"]],
  ["enumerate(DataLoader)#_Iter.__next__", ["", "enumerate(DataLoader)#_Iter.__next__", ""]],
  ["<built-in method add>", ["", "<built-in method add>", ""]],
  ["", ["", "", ""]],
])("parts %s", (name, [before, base, after]) => {
  expect(nameParts(name)).toEqual({ before, base, after });
});

it("shows what would break the page as harmless signs", () => {
  expect(harmless("a\u0000b\nc\u007f")).toBe("a␀b␊c␡");
  expect(harmless("\u202etxt.exe")).toBe("�txt.exe");
  expect(harmless("x".repeat(100_000))).toHaveLength(301);
});

it("keeps both ends of a generated name that is too long", () => {
  const { before, base, after } = nameParts(`Cijk_${"x".repeat(400)}_MT64`);
  expect([before, after]).toEqual(["", ""]);
  expect(base).toHaveLength(301);
  expect(base).toMatch(/^Cijk_x+…x+_MT64$/);
});
