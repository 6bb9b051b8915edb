import { describe, expect, it, vi } from "vitest";
import { fileNameOf, get, routeUrl } from "./client";
import { Problem } from "./problem";
import { getInfo } from "./routes";
import { CONTRACT, VERSION } from "./types.gen";

/** A server that gives these answers one after another, and notes what it was asked. */
function serve(...answers: readonly (Response | Error)[]) {
  const asked: Request[] = [];
  const queue = [...answers];
  vi.stubGlobal("fetch", (url: string, init: RequestInit) => {
    asked.push(new Request(url, { headers: init.headers ?? {} }));
    const answer = queue.shift();
    return answer instanceof Response ? Promise.resolve(answer) : Promise.reject(answer);
  });
  return asked;
}

const json = (status: number, body: unknown, headers: Record<string, string> = {}) =>
  new Response(status === 304 ? null : JSON.stringify(body), { status, headers });

async function problem(answer: Promise<unknown>): Promise<Problem> {
  const thrown: unknown = await answer.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (thrown instanceof Problem) {
    return thrown;
  }
  throw new Error(`expected a Problem, got ${String(thrown)}`);
}

it("builds addresses relative to the document, with what is set only", () => {
  const url = new URL(routeUrl("api/view/overview", { run: "a b/ü", steps: "", device: 0 }));
  expect(url.pathname.endsWith("/api/view/overview")).toBe(true);
  expect([...url.searchParams]).toEqual([
    ["run", "a b/ü"],
    ["device", "0"],
  ]);
});

it("gives the same object again when the server says that nothing changed", async () => {
  const asked = serve(json(200, { version: "1" }, { ETag: '"v1"' }), json(304, null));
  const first = await get("api/same", {}, { known: "if changed" });
  const second = await get("api/same", {}, { known: "if changed" });
  expect(asked[0]?.headers.get("If-None-Match")).toBeNull();
  expect(asked[1]?.headers.get("If-None-Match")).toBe('"v1"');
  expect(first.state === "ready" && second.state === "ready" && second.data).toBe(
    first.state === "ready" && first.data,
  );
});

it("hands on progress while a trace is being read", async () => {
  const progress = {
    phase: "reading events",
    bytes_done: 3,
    bytes_total: 9,
    events: 1,
    seconds: 1,
  };
  serve(json(202, { reading: progress }));
  expect(await get("api/trace")).toEqual({ state: "reading", progress });
});

describe("problems", () => {
  it("carry what the server says", async () => {
    const error = { kind: "lfs_pointer", message: "A Git LFS pointer.", hint: "git lfs pull" };
    serve(json(422, { error }));
    expect(await problem(get("api/x"))).toMatchObject({ ...error, status: 422, isLost: false });
  });

  it("tell a dead server", async () => {
    serve(new TypeError("Failed to fetch"));
    expect(await problem(get("api/x"))).toMatchObject({ status: 0, isLost: true });
  });

  it("tell a login page in between", async () => {
    serve(new Response("<html>sign in</html>", { status: 200 }));
    expect((await problem(get("api/x"))).message).toBe("The answer did not come from kinetoscope.");
  });

  it("survive an error without a body of ours", async () => {
    serve(json(500, { oops: true }));
    expect(await problem(get("api/x"))).toMatchObject({
      status: 500,
      message: "The server could not answer.",
    });
  });
});

describe("a server of another program", () => {
  const said = (program: string) => ({ "Kinetoscope-Program": program });
  const own = `${VERSION} ${CONTRACT}`;

  it.each([
    ["0.0.9 aa", /^The server is older than this page: it runs .* 0\.0\.9/, /restart TensorBoard/],
    ["10.0.0 aa", /^The server is newer than this page: it runs .* 10\.0\.0/, /^Reload the page/],
    [`${VERSION} aa`, /different builds/, /^Reload the page\. If .* restart TensorBoard/],
  ])("is told by the header %s, and nothing of it is taken", async (program, message, hint) => {
    serve(json(200, { figure: 1 }, said(program)));
    const error = await problem(get("api/x"));
    expect(error).toMatchObject({ isOtherProgram: true, isLost: false });
    expect(error.message).toMatch(message);
    expect(error.hint).toMatch(hint);
  });

  it("is not seen where the program is the page's, or a proxy took the header away", async () => {
    serve(json(200, { figure: 1 }, said(own)), json(200, { figure: 2 }));
    expect(await get("api/x")).toEqual({ state: "ready", data: { figure: 1 } });
    expect(await get("api/x")).toEqual({ state: "ready", data: { figure: 2 } });
  });

  it("is told by its own word, too, which servers before the header give", async () => {
    serve(json(200, { version: VERSION }), json(200, { version: VERSION, contract: CONTRACT }));
    expect((await problem(getInfo())).message).toMatch(/^The server is older than this page/);
    expect(await getInfo()).toEqual({ version: VERSION, contract: CONTRACT });
  });
});

it.each([
  ["attachment; filename=\"a.json.gz\"; filename*=UTF-8''a%20b.json.gz", "a b.json.gz"],
  ['attachment; filename="a.json.gz"', "a.json.gz"],
  ["attachment; filename*=UTF-8''%E0%A4%A", ""],
  [null, ""],
])("takes the name of a file from %s", (disposition, name) => {
  expect(fileNameOf(disposition)).toBe(name);
});
