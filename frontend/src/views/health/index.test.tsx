import { screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { catalogOf, fileOf, runOf } from "../../../test-fixtures/catalog";
import { FILES, HEALTH, noteOf } from "../../../test-fixtures/health";
import { openPage } from "../../../test-fixtures/page";
import { type FakeServer, fakeServer } from "../../../test-fixtures/server";

const runs = [runOf("resnet50", { workers: { worker0: ["ready"] } })];
const catalog = catalogOf(runs, { files: FILES, files_total: FILES.length });
let server: FakeServer;

beforeEach(() => {
  // As high as a list of 20 rows: without layout nothing would be in sight.
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(480);
  server = fakeServer(catalog);
});

const panel = async (name: string | RegExp) => within(await screen.findByRole("region", { name }));
const plain = (element: Element | null | undefined) =>
  element?.textContent?.replaceAll("\u00a0", " ") ?? "";

/** The names of the files listed, in order. */
async function listed() {
  const rows = (await panel(/^Files seen/)).getAllByRole("row").slice(1);
  return rows.map((row) => plain(row.querySelector("code")));
}

describe("what to know", () => {
  it("is each note with its severity, extent, consequence and what it touches", async () => {
    openPage("#view=health");
    const notes = (await panel("Limits of this recording")).getAllByRole("listitem");
    expect(plain(notes[0])).toContain(
      "warningAllocator events carry no addresses or totals 12,838×",
    );
    expect(plain(notes[0]?.querySelector(".note-chips"))).toBe("affects Overview");
    expect(plain(notes[1])).toContain("23,646 of 23,646");
    expect(plain(notes[3]?.querySelector(".note-chips"))).toBe("good");
  });

  it("shows examples from the file as text", async () => {
    const example = "<script>alert(1)</script>";
    const notes = [noteOf({ title: "Odd", example, offset: 5211 })];
    server.answer("view/health", { ...HEALTH, notes });
    const { container } = openPage("#view=health");
    const item = (await panel("Limits of this recording")).getByRole("listitem");
    expect(item.querySelector("pre")?.textContent).toBe(example);
    expect(plain(item)).toContain("at byte 5,211");
    expect(container.querySelector("script")).toBeNull();
  });
});

it("shows what the user added as text, and says what is cut", async () => {
  const hostile = `<img src=x onerror="alert(1)">\u202e`;
  const user = [
    { key: hostile, text: '{"lr": 0.1}', more: 0 },
    { key: "notes", text: "n".repeat(2000), more: 48_000 },
  ];
  server.answer("view/health", { ...HEALTH, user, user_more: 3 });
  const { container } = openPage("#view=health");
  const added = await panel("Added by you");
  expect(added.getByText('{"lr": 0.1}')).toBeDefined();
  expect(plain(added.getByText(/^n+$/, { selector: "summary bdi" }).parentElement)).toMatch(
    /^n{160} … 49,840 characters more$/,
  );
  expect(plain(added.getByText(/keys more/))).toBe("3 keys more in the file.");
  expect(container.querySelector("img")).toBeNull();
  expect(container.textContent).not.toContain("\u202e");
});

it("gives no recipe for the file of another recorder", async () => {
  const user = [{ key: "viztracer_metadata", text: "{}", more: 0 }];
  server.answer("view/health", { ...HEALTH, user, snippet: [] });
  openPage("#view=health");
  expect((await panel("Also in the file")).getByText("{}")).toBeDefined();
  expect(screen.queryByRole("region", { name: "Record it better" })).toBeNull();
  expect(screen.queryByText(/add_metadata/)).toBeNull();
});

it("marks the lines to add, and not their comments", async () => {
  openPage("#view=health");
  const added = (await panel("Record it better")).getAllByText(/=True,/, { selector: ".add" });
  expect(added.map((line) => line.textContent?.trim())).toEqual([
    "profile_memory=True,",
    "with_stack=True,",
  ]);
});

it("answers which questions the recording answers", async () => {
  openPage("#view=health");
  const rows = (await panel("What this recording answers")).getAllByRole("row");
  expect(plain(rows[2])).toBe("Which line of code?◐ in partstacks as textPython frames");
});

it("gives the answers away whole, with the columns that are not shown", async () => {
  const { user } = openPage("#view=health");
  const answers = await panel("What this recording answers");
  await user.click(
    answers.getByRole("button", { name: "Copy or save what this recording answers" }),
  );
  await user.click(screen.getByRole("menuitem", { name: /Copy as CSV/ }));
  const [head, ...lines] = (await navigator.clipboard.readText()).trim().split(/\r?\n/);
  expect(head).toBe("question,answer,has,lacks");
  expect(lines).toHaveLength(HEALTH.answers.length);
});

it("counts every event once", async () => {
  openPage("#view=health");
  expect((await panel("What was read")).getByText("75,718 events, each in one row")).toBeDefined();
});

describe("files", () => {
  it("are listed with verdict and reason, read or not", async () => {
    openPage("#view=health");
    const files = await panel(/^Files seen/);
    expect(files.getByText("7 files, 5 in use")).toBeDefined();
    expect(plain(files.getByRole("row", { name: /rank2/ }))).toContain(
      "◐ truncated gzip ends early",
    );
    expect(plain(files.getByRole("row", { name: /et.json/ }))).toMatch(/–18.0 KiB––.*not a trace/);
  });

  it("keep both ends of their names where there is little room", async () => {
    openPage("#view=health");
    const row = (await panel(/^Files seen/)).getByRole("row", { name: /1623143089861/ });
    expect(plain(row.querySelector("code > .dim"))).toBe("resnet50_num_workers_0/");
    expect([...row.querySelectorAll("code .long > span")].map(plain)).toEqual([
      "worker0.1623143089861.pt.tra",
      "ce.json.gz",
    ]);
  });

  it("can be reduced to those not in use, searched and sorted", async () => {
    const { user } = openPage("#view=health&health.files=unused");
    await waitFor(async () => expect(await listed()).toHaveLength(2));
    await user.click(screen.getByRole("radio", { name: "All" }));
    await user.type(screen.getByRole("searchbox", { name: "Filter the files" }), "DDP/RANK");
    expect(await listed()).toHaveLength(4);
    await user.click(screen.getByRole("button", { name: "Size" }));
    expect((await listed())[0]).toBe("ddp/rank0.pt.trace.json.gz");
    await user.click(screen.getByRole("button", { name: /Size/ }));
    expect((await listed())[0]).toBe("ddp/rank2.pt.trace.json.gz");
  });

  it("are there without any run", async () => {
    const files = [
      fileOf("notes.json", "refused", { reason: "a list of words", read_seconds: 0.02 }),
    ];
    server.answer("catalog", catalogOf([], { files, files_total: 1 }));
    openPage("#view=health");
    const heading = await screen.findByRole("heading", { level: 1 });
    expect(plain(heading)).toBe("1 file seen, none in use.");
    expect(await listed()).toEqual(["notes.json"]);
    expect(plain(screen.getByRole("row", { name: /notes/ }))).toContain("< 0.1 s");
  });

  it("are drawn only as far as they can be seen", async () => {
    const files = Array.from({ length: 2000 }, (_, i) => fileOf(`run/${i}.json`, "refused"));
    server.answer("catalog", catalogOf(runs, { files, files_total: 5000 }));
    openPage("#view=health");
    const table = await panel(/^Files seen/);
    expect(table.getByText(/5,000 files, 0 in use, the first 2,000 are listed/)).toBeDefined();
    const { length } = await listed();
    expect(length).toBeGreaterThanOrEqual(20);
    expect(length).toBeLessThan(60);
    expect(table.getByRole("treegrid").getAttribute("aria-rowcount")).toBe("2001");
  });
});
