import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import { catalogOf, runOf } from "../../test-fixtures/catalog";
import { openPage } from "../../test-fixtures/page";
import { TRACE } from "../../test-fixtures/resnet";
import { type FakeServer, fakeServer } from "../../test-fixtures/server";
import type { FindAnswer } from "../api/types.gen";

const HOSTILE = "<img src=x onerror=alert(1)>gemm\u202e";
const named = (name: string, key: string) => ({ name, key, count: 3, total_ns: 2_000_000 });
const FOUND: FindAnswer = {
  kinds: [
    { kind: "op", names: [named("aten::gemm", "4")], count: 1 },
    { kind: "annotation", names: [named("my gemm", "9")], count: 1 },
    {
      kind: "kernel",
      names: [named(`sgemm_${"x".repeat(900)}`, "17"), named(HOSTILE, "18")],
      count: 1502,
    },
  ],
};

let server: FakeServer;

beforeEach(() => {
  server = fakeServer(catalogOf([runOf("resnet50", { workers: { worker0: ["ready"] } })]));
  const views = [...TRACE.views, { stem: "operators", unavailable: null, badge: null }];
  server.answer("trace", { ...TRACE, views });
  server.answer("view/operators/find", FOUND);
});

async function palette(typed: string) {
  const page = openPage();
  await screen.findByRole("heading", { level: 1, name: /waits for the DataLoader/ });
  await page.user.keyboard("{Control>}k{/Control}");
  if (typed !== "") {
    await page.user.type(screen.getByRole("combobox"), typed);
  }
  return { ...page, list: screen.getByRole("listbox", { name: "Places" }) };
}

const options = (list: HTMLElement) =>
  within(list)
    .getAllByRole("option")
    .map((option) => option.textContent ?? "");
const hash = () => new URLSearchParams(window.location.hash.slice(1));

describe("the palette", () => {
  it("asks once for keys without a pause, and lists names by kind, with the number of others", async () => {
    const { list } = await palette("");
    for (const value of ["g", "ge", "gem", "gemm"]) {
      fireEvent.change(screen.getByRole("combobox"), { target: { value } });
    }
    await within(list).findByText("Kernels, 2 of 1,502");
    expect(within(list).getByText("Operators")).toBeDefined();
    expect(within(list).getByText("Annotations")).toBeDefined();
    expect(options(list).map((text) => text.slice(0, 17))).toEqual([
      "Operatoraten::gem",
      "Annotationmy gemm",
      "Kernelsgemm_xxxxx",
      "Kernel<img src=x ",
      "Kernel1,500 morel",
    ]);
    const asked = server.asked.filter(({ pathname }) => pathname.endsWith("operators/find"));
    expect(asked.map(({ searchParams }) => searchParams.get("search"))).toEqual(["gemm"]);
  });

  it("leads to the row of what was chosen, by keys alone", async () => {
    const { user, list } = await palette("gemm");
    await within(list).findByText("Operators");
    await user.keyboard("{ArrowDown}{ArrowDown}{Enter}");
    expect(hash().get("view")).toBe("kernels");
    expect(hash().get("kernels.row")).toBe("17");
    expect(hash().get("kernels.search")).toBe(`sgemm_${"x".repeat(294)}`);
  });

  it("leads to all of a kind", async () => {
    const { user, list } = await palette("kernel gemm");
    // What is typed is asked for once the keys rest.
    await waitFor(() => expect(server.asked.at(-1)?.searchParams.get("search")).toBe("gemm"));
    await user.click(await within(list).findByText("1,500 more"));
    expect(hash().get("kernels.search")).toBe("gemm");
    expect(hash().get("kernels.row")).toBeNull();
  });

  it("shows hostile names as text", async () => {
    const { list } = await palette("gemm");
    await within(list).findByText("Operators");
    expect(list.querySelector("img")).toBeNull();
    expect(list.textContent).toContain("<img src=x");
    expect(list.textContent).not.toContain("\u202e");
  });

  it("says that names are being prepared, and finds them when they are", async () => {
    const progress = {
      phase: "preparing",
      bytes_done: 0,
      bytes_total: 0,
      events: 0,
      seconds: 0,
      seconds_left: null,
    };
    server.answer("view/operators/find", { status: 202, body: { reading: progress } });
    await palette("gemm");
    await screen.findByText(/are being prepared/);
    server.answer("view/operators/find", FOUND);
    await screen.findByText("Kernels, 2 of 1,502");
    expect(screen.queryByText(/are being prepared/)).toBeNull();
  });

  it("chooses a step by its number", async () => {
    const { user, list } = await palette("step 7");
    await within(list).findByText("Steps");
    expect(options(list)[0]).toContain("ProfilerStep#7");
    await user.keyboard("{Enter}");
    await waitFor(() => expect(hash().get("steps")).toBe("7"));
  });

  it("finds a rank by its number, whatever its worker is called", async () => {
    const workers = { node3_77: ["ready"], node3_78: ["ready"] } as const;
    const run = runOf("job", { workers });
    const ranked = run.workers.map((worker, at) => ({ ...worker, rank: 40 + at }));
    server.answer("catalog", catalogOf([{ ...run, workers: ranked }]));
    server.answer("view/operators/find", { kinds: [] });
    const { user, list } = await palette("rank 41");
    await within(list).findByText("Workers");
    expect(options(list)).toEqual([expect.stringContaining("node3_78rank 41")]);
    await user.keyboard("{Enter}");
    await waitFor(() => expect(hash().get("worker")).toBe("node3_78"));
  });

  it("finds findings, modules, settings and help", async () => {
    const views = ["operators", "modules"].map((stem) => ({
      stem,
      unavailable: null,
      badge: null,
    }));
    server.answer("trace", { ...TRACE, views: [...TRACE.views, ...views] });
    const row = { name: "layer4 × 2", key: "9+", calls: 12, total_ns: 3_000_000 };
    server.answer("view/modules/table", { rows: [row, { ...row, name: "fc" }] });
    const { user, list } = await palette("layer4");
    await user.click(await within(list).findByText("layer4 × 2"));
    expect(hash().get("modules.search")).toBe("layer4");

    await user.keyboard("{Control>}k{/Control}");
    await user.type(screen.getByRole("combobox"), "finding batches in worker");
    await user.keyboard("{Enter}");
    expect(hash().get("overview.finding")).toBe("IN1");

    await user.keyboard("{Control>}k{/Control}");
    await user.type(screen.getByRole("combobox"), "everything recorded");
    await user.keyboard("{Enter}");
    expect(hash().get("steps")).toBe("everything");

    await user.keyboard("{Control>}k{/Control}");
    await user.type(screen.getByRole("combobox"), "keys and help");
    await user.keyboard("{Enter}");
    expect(await screen.findByRole("dialog", { name: "Keys" })).toBeDefined();
  });

  it("asks nothing of a recording that has no operators", async () => {
    server.answer("trace", TRACE);
    await palette("gemm");
    expect(await screen.findByText("Nothing of that name.")).toBeDefined();
    expect(server.asked.some(({ pathname }) => pathname.endsWith("operators/find"))).toBe(false);
  });

  it("closes with Escape while something is typed", async () => {
    const { user } = await palette("gemm");
    await user.keyboard("{Escape}");
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  });
});
