import { screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { catalogOf, fileOf, runOf, spanOf } from "../../test-fixtures/catalog";
import { openPage } from "../../test-fixtures/page";
import { INFO, OVERVIEW, TRACE } from "../../test-fixtures/resnet";
import { type FakeServer, fakeServer, refusal } from "../../test-fixtures/server";

const resnet = runOf("resnet50", { modified: 300, workers: { worker0: ["ready"] } });
const ranks = runOf("ranks", { modified: 100, workers: { rank0: ["ready"], rank1: ["reading"] } });
const unread = runOf("unread", { modified: 50, workers: { a: ["refused"], b: ["failed"] } });
const catalog = catalogOf([resnet, ranks, unread]);

const heading = (name: RegExp) => screen.findByRole("heading", { level: 1, name });
let server: FakeServer;

beforeEach(() => {
  server = fakeServer(catalog);
});

describe("the tab of the Overview", () => {
  const views = [{ stem: "overview", unavailable: null, badge: null }];
  const tab = () => within(screen.getByRole("navigation", { name: "Views" })).getByText("Overview");

  it("counts the findings once all ranks of a run have a say, and asks for nothing", async () => {
    server.answer("trace", { ...TRACE, views });
    openPage();
    await heading(/waits for the DataLoader/);
    expect(tab().textContent).toBe(`Overview${OVERVIEW.findings.length}`);
    expect(server.asked.filter(({ pathname }) => pathname.endsWith("view/overview"))).toHaveLength(
      1,
    );
  });

  it("counts nothing while ranks are being read", async () => {
    server.answer("trace", { ...TRACE, views });
    server.answer("view/overview", { ...OVERVIEW, waiting: 2 });
    openPage();
    await heading(/waits for the DataLoader/);
    expect(tab().textContent).toBe("Overview");
  });
});

describe("opening the page", () => {
  it("shows the newest run, and writes down what it chose", async () => {
    openPage();
    await heading(/waits for the DataLoader/);
    expect(screen.getByRole("button", { name: "Run resnet50" })).toBeDefined();
    expect(window.location.hash).toBe("#run=resnet50&worker=worker0&span=1");
  });

  it("keeps the end of a worker's name, and all of a short one of a run", async () => {
    const name = "node-0123456789.cluster.example_rank3";
    const run = "pretraining_of_a_mixture_of_experts";
    const short = runOf("ranks", { workers: { [name]: ["ready"] } });
    server = fakeServer(catalogOf([short, runOf(run, { workers: { worker0: ["ready"] } })]));
    const { unmount } = openPage(`#run=ranks&worker=${name}`);
    const worker = await screen.findByRole("button", { name: new RegExp(`^Worker ${name}`) });
    expect(worker.querySelector(".end-name > bdi[dir=ltr]")?.textContent).toBe(name);
    expect(worker.className).not.toContain("short");
    expect(screen.getByRole("button", { name: "Run ranks" }).className).toContain("short");
    unmount();
    openPage(`#run=${run}`);
    const long = await screen.findByRole("button", { name: `Run ${run}` });
    expect(long.className).not.toContain("short");
  });

  it("opens a deep link just so, and asks for just that", async () => {
    openPage("#view=overview&run=ranks&worker=rank0&span=1&steps=7-8&device=0");
    await heading(/waits for the DataLoader/);
    const asked = server.asked.find((url) => url.pathname.endsWith("view/overview"));
    expect(Object.fromEntries(asked?.searchParams ?? [])).toEqual({
      run: "ranks",
      worker: "rank0",
      span: "1",
      digest: "digest-1",
      steps: "7-8",
      device: "0",
    });
  });

  it("writes an address that counts steps by place as today, before it asks", async () => {
    openPage("#run=ranks&worker=rank0&steps=2-3");
    await heading(/waits for the DataLoader/);
    expect(window.location.hash).toContain("steps=7-8");
    const asked = server.asked.filter((url) => url.pathname.endsWith("view/overview"));
    expect(asked.map((url) => url.searchParams.get("steps"))).toEqual(["7-8"]);
  });

  it.each(["health", "Health", "HEALTH"])("opens a view by its stem or title: %s", async (name) => {
    openPage(`#view=${name}`);
    await heading(/Read completely/);
    expect(screen.getByRole("link", { name: /^Health/ }).getAttribute("aria-current")).toBe("page");
  });

  it("says that the server does not answer, and goes on when it does", async () => {
    server.answer("info", null);
    const { user } = openPage();
    await heading(/does not answer/);
    server.answer("info", INFO);
    await user.click(screen.getByRole("button", { name: "Try again" }));
    await heading(/waits for the DataLoader/);
  });
});

describe("a server of another version", () => {
  it("is named in the place of figures that could be wrong, until it is the page's", async () => {
    vi.useFakeTimers({ shouldAdvanceTime: true });
    server.answer("info", { ...INFO, version: "0.0.1", contract: undefined });
    openPage();
    await heading(/do not fit together/);
    expect(screen.getByRole("alert").textContent).toMatch(/older than this page.*0\.0\.1/);
    expect(screen.getByText(/restart TensorBoard/)).toBeDefined();
    expect(screen.getByRole("button", { name: "Reload the page" })).toBeDefined();
    server.answer("info", INFO);
    await vi.advanceTimersByTimeAsync(4000);
    vi.useRealTimers();
    await heading(/waits for the DataLoader/);
  });

  it("is named in a line above the figures of the one before", async () => {
    vi.useFakeTimers({ shouldAdvanceTime: true });
    openPage();
    await heading(/waits for the DataLoader/);
    const headers = { "Kinetoscope-Program": "99.0.0 aa" };
    server.answer("catalog", { status: 200, body: { runs: "something else" }, headers });
    await vi.advanceTimersByTimeAsync(11_000);
    vi.useRealTimers();
    const line = (await screen.findByText(/newer than this page/)).closest(".banner");
    expect(line?.textContent).toContain("runs kinetoscope 99.0.0");
    expect(line?.textContent).toContain("Reload the page");
    expect(screen.getByRole("heading", { level: 1 }).textContent).toMatch(/DataLoader/);
  });
});

describe("nothing to show", () => {
  it("names the logdirs, what was seen instead, and the recipe", async () => {
    const files = [fileOf("exports/et.json", "refused", { reason: "an execution trace" })];
    server.answer("catalog", catalogOf([], { logdirs: ["./log", "/data"], files, files_total: 1 }));
    openPage();
    expect((await heading(/No traces in/)).textContent).toBe("No traces in ./log and /data yet");
    expect(screen.getByText("exports/et.json")).toBeDefined();
    expect(screen.getByText("an execution trace")).toBeDefined();
    expect(screen.getByText(/1 file seen/)).toBeDefined();
    expect(screen.getByText(/on_trace_ready=/).className).toBe("add");
    expect(screen.getByRole("button", { name: "Copy" })).toBeDefined();
  });

  it("says what is wrong with a logdir", async () => {
    const problems = [
      { kind: "logdir_missing", message: "`/nope` does not exist.", hint: "Typo?" },
    ];
    server.answer("catalog", catalogOf([], { problems }));
    openPage();
    expect((await screen.findByRole("alert")).textContent).toContain("/nope does not exist. Typo?");
  });

  it("says what to install, and does not promise to look where it cannot", async () => {
    const message = "s3://b/logs: s3fs is not installed, which reads and writes s3://.";
    const hint = "Install it with `pip install 'kinetoscope[s3]'`, and start it again.";
    const problems = [{ kind: "remote_extra", message, hint }];
    server.answer("catalog", catalogOf([], { logdirs: ["s3://b/logs"], problems }));
    openPage();
    const said = await screen.findByRole("alert");
    expect(said.querySelector("code")?.textContent).toBe("pip install 'kinetoscope[s3]'");
    expect(screen.queryByText(/fills by itself/)).toBeNull();
    expect(screen.getByText(/Three lines in your training/)).toBeDefined();
  });

  it("chooses nothing in the place of a run that is gone", async () => {
    const { user } = openPage("#run=gone&worker=w");
    await heading(/No run gone here/);
    expect(window.location.hash).toBe("#run=gone&worker=w");
    await user.click(screen.getByRole("button", { name: "Open the newest run" }));
    await heading(/waits for the DataLoader/);
  });

  it("names the files of an address whose folder holds no trace", async () => {
    const catalog = catalogOf([ranks]);
    const file = {
      path: "notes/x.json",
      logdir: "/l",
      run: null,
      worker: null,
      span: null,
      bytes: 0,
      modified: 0,
      state: "refused",
      events: null,
      read_seconds: null,
      from_cache: false,
      verdict: "not a trace",
      reason: "The file is empty.",
      hint: "",
    };
    server.answer("catalog", { ...catalog, files: [file, { ...file, path: "notes2/y.json" }] });
    openPage("#run=notes");
    await heading(/No run notes here/);
    expect(screen.getByText("The file is empty.")).toBeDefined();
    expect(screen.queryByText(/y\.json/)).toBeNull();
    expect(screen.queryByText(/was deleted or moved/)).toBeNull();
  });
});

describe("the choice of a worker", () => {
  it("tells node, process and rank where the name does not, and finds them", async () => {
    const plain = { spans: [spanOf("1", "ready")] };
    const workers = [
      { name: "host_7", rank: 0, node: "host", process: 7, ...plain },
      { name: "trainer", rank: 1, node: "gpu17", process: 4711, ...plain },
    ];
    server.answer("catalog", catalogOf([{ ...ranks, workers }]));
    const { user } = openPage("#run=ranks&worker=trainer");
    await heading(/waits for the DataLoader/);
    const button = screen.getByRole("button", { name: /^Worker trainer/ });
    // A host's name may be long: the bar has its room for other things, the tooltip says all.
    expect(button.textContent).toContain("rank 1");
    expect(button.querySelector("[title]")?.getAttribute("title")).toContain("node gpu17");
    await user.click(button);
    const [first, second] = screen.getAllByRole("option");
    expect(first?.textContent).toContain("rank 0");
    expect(first?.textContent).not.toContain("process");
    expect(first?.querySelector("[title]")?.getAttribute("title")).toBe(
      "Worker host_7 · node host · process 7 · rank 0",
    );
    expect(second?.textContent).toContain("gpu17 · process 4711 · rank 1");
  });
});

describe("a trace that is not there yet, or never", () => {
  it("shows how far reading is, and offers what is ready", async () => {
    server.answer("trace", { status: 202, body: { reading: spanOf("1", "reading").progress } });
    const { user } = openPage("#run=ranks&worker=rank1");
    await heading(/Reading rank1/);
    const bar = screen.getByRole("progressbar");
    expect(bar.getAttribute("aria-valuenow")).toBe("38");
    expect(screen.getByText("reading events")).toBeDefined();
    expect(screen.getByText(/about 9 s left/)).toBeDefined();
    server.answer("trace", TRACE);
    await user.click(screen.getByRole("button", { name: "Open rank0 now" }));
    await heading(/waits for the DataLoader/);
  });

  it.each(["reading", "refused"] as const)(
    "turns no text around while a file is %s",
    async (state) => {
      const TURN = "\u202e";
      const span = spanOf("1", state, { file: `${TURN}odd.json` });
      const worker = { name: `${TURN}odd`, rank: null, spans: [span], node: "", process: null };
      server.answer("catalog", catalogOf([{ ...resnet, workers: [worker] }]));
      server.answer("trace", { status: 202, body: { reading: spanOf("1", "reading").progress } });
      const { container } = openPage();
      await heading(state === "reading" ? /Reading �odd/ : /is not a trace/);
      const page = container.querySelector("main");
      expect(page?.textContent).toContain("�odd.json");
      expect(page?.innerHTML).not.toContain(TURN);
    },
  );

  it("asks at once how it went with a file that is read when it is opened", async () => {
    const queued = spanOf("1", "queued", { progress: null });
    const later = (span: typeof queued) =>
      catalogOf([
        {
          ...resnet,
          workers: [{ name: "worker0", rank: null, spans: [span], node: "", process: null }],
        },
      ]);
    server.answer("catalog", later(queued));
    server.answer("trace", () => {
      server.answer("catalog", later(spanOf("1", "refused")));
      return refusal(422, "no_trace", "no trace");
    });
    openPage();
    await heading(/is not a trace/);
  });

  it.each([
    ["a", /is not a trace/, "The file holds a Git LFS pointer of 132 bytes", "git lfs pull"],
    ["b", /could not be read/, "was killed", "Close other programs"],
  ])("says why worker %s cannot be shown, and tries again", async (worker, title, why, hint) => {
    const { user } = openPage(`#run=unread&worker=${worker}`);
    await heading(title);
    expect(screen.getByText(new RegExp(why))).toBeDefined();
    expect(screen.getByText(new RegExp(hint))).toBeDefined();
    await user.click(screen.getByRole("button", { name: "Try again" }));
    await waitFor(() => {
      const asked = server.asked.find((url) => url.pathname.endsWith("api/retry"));
      expect(asked?.searchParams.get("path")).toBe(`${worker}.1.pt.trace.json.gz`);
      expect(asked?.searchParams.get("logdir")).toBe("./log");
    });
  });

  it("keeps a view that the recording cannot fill in the tabs, with the reason", async () => {
    const views = [{ stem: "overview", unavailable: "No `step` was recorded.", badge: null }];
    server.answer("trace", { ...TRACE, views });
    openPage();
    await heading(/Overview is not available/);
    const tab = screen.getByRole("link", { name: /Overview/ });
    expect(tab.textContent).toContain("n/a");
    expect(tab.title).toBe("No `step` was recorded.");
    expect(screen.getByText("step").tagName).toBe("CODE");
  });

  it("shows the tab of the view where not all tabs have room", async () => {
    const seen: string[] = [];
    HTMLElement.prototype.scrollIntoView = function (this: HTMLElement) {
      seen.push(this.textContent);
    };
    openPage("#view=health&run=resnet50");
    await waitFor(() => expect(seen.at(-1)).toMatch(/^Health/));
    Reflect.deleteProperty(HTMLElement.prototype, "scrollIntoView");
  });

  it("leads from a file of memory alone to the view that shows it", async () => {
    const views = [
      { stem: "overview", unavailable: "This file tells what the allocator did.", badge: null },
      { stem: "memory", unavailable: null, badge: null },
      { stem: "health", unavailable: null, badge: null },
    ];
    const memory = { stem: "memory", title: "Memory", key: "m", question: "What holds it?" };
    server.answer("info", { ...INFO, views: [...INFO.views, memory] });
    server.answer("trace", { ...TRACE, views });
    const span = spanOf("1", "ready", { file: "resnet50/memory.pickle" });
    const worker = { ...(resnet.workers[0] as (typeof resnet.workers)[number]), spans: [span] };
    server.answer("catalog", catalogOf([{ ...resnet, workers: [worker] }]));
    const { user } = openPage("#view=overview");
    await heading(/Overview is not available/);
    await user.keyboard("{Control>}k{/Control}");
    await user.keyboard("{Escape}");
    expect(server.asked.filter(({ pathname }) => pathname.endsWith("view/overview"))).toEqual([]);
    const link = screen.getByRole("link", { name: "Open Memory" });
    expect(link.getAttribute("href")).toContain("view=memory");
    expect(screen.queryByRole("link", { name: "Open Health" })).toBeNull();
  });
});

describe("trouble while the page is open", () => {
  it("keeps an error of a view in the view", async () => {
    server.answer("view/overview", refusal(400, "bad_query", "there is no step 40", "0 to 5"));
    const { user } = openPage("#run=resnet50&steps=40");
    const note = await screen.findByRole("alert");
    expect(note.textContent).toContain("there is no step 40");
    expect(screen.getByRole("link", { name: /^Health/ })).toBeDefined();
    server.answer("view/overview", OVERVIEW);
    await user.click(screen.getByRole("button", { name: /default steps/ }));
    await heading(/waits for the DataLoader/);
    expect(window.location.hash).not.toContain("steps");
  });

  it("keeps the figures when the connection is lost, and says so", async () => {
    vi.useFakeTimers({ shouldAdvanceTime: true });
    openPage();
    await heading(/waits for the DataLoader/);
    server.answer("catalog", null);
    await vi.advanceTimersByTimeAsync(11_000);
    expect((await screen.findByText(/connection to the server is lost/)).textContent).toBeDefined();
    expect(screen.getByRole("heading", { level: 1 }).textContent).toMatch(/DataLoader/);
    server.answer("catalog", catalog);
    await vi.advanceTimersByTimeAsync(4000);
    await waitFor(() => expect(screen.queryByText(/is lost/)).toBeNull());
    vi.useRealTimers();
  });

  it("never changes the figures under the reader's hand when the file is replaced", async () => {
    vi.useFakeTimers({ shouldAdvanceTime: true });
    openPage();
    await heading(/waits for the DataLoader/);
    const span = spanOf("1", "ready", { digest: "digest-new" });
    const workers = [{ name: "worker0", rank: null, spans: [span], node: "", process: null }];
    server.answer("catalog", catalogOf([{ ...resnet, workers }, ranks], { version: "2" }));
    const sentence = { headline: "Now it is faster.", detail: "", beyond: "", agreement: "" };
    server.answer("view/overview", { ...OVERVIEW, sentence });
    await vi.advanceTimersByTimeAsync(11_000);
    vi.useRealTimers();
    const chip = await screen.findByRole("button", { name: "new data, reload" });
    expect(screen.getByRole("heading", { level: 1 }).textContent).toMatch(/DataLoader/);
    chip.click();
    await heading(/Now it is faster/);
    expect(screen.queryByRole("button", { name: "new data, reload" })).toBeNull();
  });
});

describe("moving about", () => {
  it("keeps the choice when the view changes, and goes back", async () => {
    const { user } = openPage("#run=ranks&worker=rank0&steps=7");
    await heading(/waits for the DataLoader/);
    await user.click(screen.getByRole("link", { name: /^Health/ }));
    await heading(/Read completely/);
    expect(window.location.hash).toContain("run=ranks&worker=rank0&steps=7");
    await user.keyboard("go");
    await heading(/waits for the DataLoader/);
  });

  it("chooses another run by search, in the picker and in the palette", async () => {
    const { user } = openPage();
    await heading(/waits for the DataLoader/);
    await user.click(screen.getByRole("button", { name: "Run resnet50" }));
    const list = screen.getByRole("listbox", { name: "Run" });
    expect(
      within(list)
        .getAllByRole("option")
        .map((option) => option.textContent)[2],
    ).toMatch(/^unread.*not read/);
    await user.keyboard("{ArrowDown}{Enter}");
    expect(await screen.findByRole("button", { name: "Run ranks" })).toBeDefined();

    await user.keyboard("{Control>}k{/Control}");
    await user.type(screen.getByRole("combobox"), "run resn{Enter}");
    expect(await screen.findByRole("button", { name: "Run resnet50" })).toBeDefined();
    expect(screen.queryByRole("combobox")).toBeNull();
  });

  it("walks through the steps by key and clears the choice with Esc", async () => {
    const { user } = openPage();
    await heading(/waits for the DataLoader/);
    await user.keyboard("]");
    expect(window.location.hash).toContain("steps=10");
    await user.keyboard("[[[["); // twice: a doubled bracket types one
    expect(window.location.hash).toContain("steps=8");
    await user.keyboard("{Escape}");
    expect(window.location.hash).not.toContain("steps");
  });

  it("shows its keys", async () => {
    const { user } = openPage();
    await heading(/waits for the DataLoader/);
    await user.keyboard("?");
    const help = await screen.findByRole("dialog", { name: "Keys" });
    expect(help.textContent).toContain("Previous and next step");
  });
});

it("shows names from a trace as text, whatever they hold", async () => {
  const name = `<img src=x onerror="alert(1)">`;
  server.answer("catalog", catalogOf([runOf(name, { workers: { [`"><script>`]: ["ready"] } })]));
  const text = "`</code><b>x</b>`";
  const sentence = { headline: `${name} waits`, detail: text, beyond: text, agreement: name };
  server.answer("view/overview", { ...OVERVIEW, sentence });
  const { container } = openPage();
  await heading(/img src=x/);
  expect(container.querySelector("img, script, b b")).toBeNull();
  expect(screen.getByText("</code><b>x</b>").tagName).toBe("CODE");
});
