import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { answer, fakeSource, randomTrace } from "../../../test-fixtures/fake_trace";
import type { Rank, TileRequest } from "./batches";
import { directLoader, type LoadAnswer, type Loader } from "./loader";
import { Scheduler } from "./scheduler";
import { SourceState } from "./sources";
import { TileStore } from "./store";

const trace = randomTrace(2, 40, 30, 1e6);

/** A loader that answers when it is told to. */
function manualLoader() {
  const asked: {
    url: string;
    isAborted: () => boolean;
    reply: (answer: LoadAnswer) => Promise<void>;
    succeed: () => Promise<void>;
  }[] = [];
  const settled = () => vi.advanceTimersByTimeAsync(0);
  const loader: Loader = {
    load: (request, signal) =>
      new Promise((resolve, reject) => {
        signal.addEventListener("abort", () => reject(new Error("aborted")));
        const reply = async (given: LoadAnswer) => {
          resolve(given);
          await settled();
        };
        const succeed = async () => {
          const direct = directLoader(async () => new Response(answer(trace, request.url)));
          await reply(await direct.load(request, new AbortController().signal));
        };
        asked.push({ url: request.url, isAborted: () => signal.aborted, reply, succeed });
      }),
    close: () => undefined,
  };
  return { loader, asked };
}

function setUp() {
  const { loader, asked } = manualLoader();
  const store = new TileStore(1e9);
  const source = new SourceState(fakeSource(trace));
  const problems: string[] = [];
  const pending: number[] = [];
  const scheduler = new Scheduler(
    loader,
    {
      onTiles: (from, tiles) => {
        for (const tile of tiles) {
          store.put(from.id, tile, 0);
        }
      },
      onProblem: (message) => problems.push(message),
      onPending: (count) => pending.push(count),
    },
    () => Date.now(),
  );
  const tileRequest = (lane: number, tile: number, rank: Rank = 0, level = 5): TileRequest => ({
    source,
    laneTiles: store.slices(0, 0, lane),
    level,
    tile,
    rank,
  });
  return { scheduler, asked, store, problems, pending, tileRequest };
}

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

describe("requests", () => {
  it("are at most two at a time, and one for all tileRequests of a frame", () => {
    const { scheduler, asked, tileRequest } = setUp();
    scheduler.tileRequest([
      tileRequest(0, 1),
      tileRequest(0, 2),
      tileRequest(16, 1),
      tileRequest(16, 2),
    ]);
    expect(asked).toHaveLength(1);
    scheduler.tileRequest([
      tileRequest(0, 1),
      tileRequest(0, 2),
      tileRequest(0, 3, 1),
      tileRequest(0, 1, 2, 6),
    ]);
    expect(asked).toHaveLength(2);
  });

  it("go on with the next tileRequest when one is answered", async () => {
    const { scheduler, asked, store, tileRequest } = setUp();
    scheduler.tileRequest([tileRequest(0, 1), tileRequest(0, 2, 1), tileRequest(0, 0, 2, 6)]);
    expect(asked).toHaveLength(2);
    await asked[0]?.succeed();
    expect(store.tiles).toBe(1);
    expect(asked).toHaveLength(3);
  });

  it("that nobody wants any more are aborted, others are not", async () => {
    const { scheduler, asked, tileRequest } = setUp();
    scheduler.tileRequest([tileRequest(0, 1), tileRequest(0, 7, 1)]);
    scheduler.tileRequest([tileRequest(0, 100), tileRequest(0, 1)]);
    expect(asked.map((each) => each.isAborted())).toEqual([false, true, false]);
    expect(asked[2]?.url).toContain("tiles=100");
  });

  it("are not repeated for what is under way or there", async () => {
    const { scheduler, asked, tileRequest } = setUp();
    scheduler.tileRequest([tileRequest(0, 1)]);
    scheduler.tileRequest([tileRequest(0, 1)]);
    expect(asked).toHaveLength(1);
  });
});

describe("what is missing in view", () => {
  it("is told, down to nothing", async () => {
    const { scheduler, asked, pending, tileRequest } = setUp();
    scheduler.tileRequest([tileRequest(0, 1), tileRequest(0, 2), tileRequest(0, 3, 1)]);
    await asked[0]?.succeed();
    expect(pending).toEqual([2, 0]);
  });
});

describe("while the server still reads the trace", () => {
  it("it is asked again, ever more seldom", async () => {
    const { scheduler, asked, problems, store, tileRequest } = setUp();
    scheduler.tileRequest([tileRequest(0, 1)]);
    await asked[0]?.reply({ state: "later" });
    expect(asked).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(502);
    expect(asked).toHaveLength(2);
    await asked[1]?.reply({ state: "later" });
    await vi.advanceTimersByTimeAsync(502);
    expect(asked).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(502);
    expect(asked).toHaveLength(3);
    await asked[2]?.succeed();
    expect([store.tiles, problems]).toEqual([1, []]);
  });
});

describe("a failure", () => {
  const lost: LoadAnswer = { state: "failed", message: "Gone.", isFinal: false };

  it("is told once, however often it is met, and the tile is asked for again", async () => {
    const { scheduler, asked, problems, store, tileRequest } = setUp();
    scheduler.tileRequest([tileRequest(0, 1)]);
    await asked[0]?.reply(lost);
    await vi.advanceTimersByTimeAsync(600);
    await asked[1]?.reply(lost);
    await vi.advanceTimersByTimeAsync(1100);
    await asked[2]?.succeed();
    expect([problems, store.tiles]).toEqual([["Gone."], 1]);
    scheduler.tileRequest([tileRequest(0, 2)]);
    await asked[3]?.reply(lost);
    expect(problems).toEqual(["Gone.", "Gone."]);
  });

  it("that is final is not tried again, and the rest goes on", async () => {
    const { scheduler, asked, tileRequest } = setUp();
    scheduler.tileRequest([tileRequest(0, 1), tileRequest(0, 9, 1)]);
    await asked[0]?.reply({ state: "failed", message: "No such run.", isFinal: true });
    scheduler.tileRequest([tileRequest(0, 1), tileRequest(0, 9, 1), tileRequest(0, 3)]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked.map(({ url }) => new URL(url).searchParams.get("tiles"))).toEqual(["1", "9", "3"]);
  });

  it("to answer for a tile does not end in asking for ever", async () => {
    const { scheduler, asked, problems, tileRequest } = setUp();
    scheduler.tileRequest([tileRequest(0, 1)]);
    await asked[0]?.reply({ state: "tiles", tiles: [], namePages: [] });
    scheduler.tileRequest([tileRequest(0, 1)]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked).toHaveLength(1);
    expect(problems).toEqual([
      "Part of the timeline is missing: the server is busy. Move or zoom to ask again.",
    ]);
  });
});

it("nothing is told after closing", async () => {
  const { scheduler, asked, store, tileRequest } = setUp();
  scheduler.tileRequest([tileRequest(0, 1)]);
  scheduler.close();
  expect(asked[0]?.isAborted()).toBe(true);
  await asked[0]?.succeed();
  scheduler.tileRequest([tileRequest(0, 2)]);
  expect([asked.length, store.tiles]).toEqual([1, 0]);
});
