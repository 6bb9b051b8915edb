import { describe, expect, it } from "vitest";
import { fakeSource, random, randomTrace } from "../../../test-fixtures/fake_trace";
import {
  MOST_BLOCKS,
  MOST_TILES,
  nextBatch,
  type Rank,
  requestKey,
  type TileRequest,
} from "./batches";
import { SourceState } from "./sources";
import { TileStore } from "./store";

const trace = randomTrace(1, 1, 10, 1e6);
const source = new SourceState(fakeSource(trace));
const store = new TileStore(1e9);

const tileRequest = (
  track: number,
  lane: number,
  tile: number,
  rank: Rank = 0,
  level = 5,
): TileRequest => ({
  source,
  laneTiles: store.slices(0, track, lane),
  level,
  tile,
  rank,
});

const queryOf = (url: string | undefined) => new URL(url ?? "").searchParams;

describe("a batch", () => {
  it("asks for all blocks of a view in all its tiles", () => {
    const tileRequests = [0, 16].flatMap((lane) =>
      [4, 5, 6].map((tile) => tileRequest(3, lane, tile)),
    );
    const batch = nextBatch(tileRequests);
    expect(batch?.url.split("?")[0]).toBe("http://127.0.0.1/api/view/timeline/tiles");
    const query = queryOf(batch?.url);
    expect(query.get("tiles")).toBe("4-6");
    expect(query.get("blocks")).toBe("3.0,3.16");
    expect([query.get("level"), query.get("layout")]).toEqual(["5", "split"]);
    expect([query.get("run"), query.get("digest")]).toEqual(["r", "d"]);
    expect(batch?.tileRequests).toHaveLength(6);
  });

  it("of counters speaks of series and not of layouts, which the server refuses there", () => {
    const laneTiles = store.counter(0, 2);
    const batch = nextBatch([{ source, laneTiles, level: 5, tile: 1, rank: 0 }]);
    expect(batch?.kind).toBe("counters");
    const query = queryOf(batch?.url);
    expect([query.get("series"), query.has("layout"), query.has("blocks")]).toEqual([
      "2",
      false,
      false,
    ]);
  });

  it("does not mix what is in view with what is not, nor levels", () => {
    const tileRequests = [
      tileRequest(0, 0, 1, 0),
      tileRequest(0, 0, 2, 1),
      tileRequest(1, 0, 1, 0, 6),
      tileRequest(1, 0, 1, 0),
    ];
    expect(nextBatch(tileRequests)?.tileRequests).toEqual([tileRequests[0], tileRequests[3]]);
  });

  it("asks for nothing when there is nothing to ask for", () => {
    expect(nextBatch([])).toBeNull();
  });

  it("stays within what the server answers, and in the end every tileRequest is granted once", () => {
    const next = random(4);
    for (let run = 0; run < 40; run += 1) {
      const all = new Map<string, TileRequest>();
      for (let i = 0; i < 400; i += 1) {
        const each = tileRequest(
          Math.floor(next() * 90),
          16 * Math.floor(next() * 2),
          Math.floor(next() * 40),
        );
        all.set(requestKey(each), each);
      }
      let open = [...all.values()];
      let requests = 0;
      while (open.length > 0) {
        const batch = nextBatch(open);
        const query = queryOf(batch?.url);
        const blocks = query.get("blocks")?.split(",") ?? [];
        expect(batch?.tileRequests).toContain(open[0]);
        expect(blocks.length).toBeLessThanOrEqual(MOST_BLOCKS);
        expect(batch?.tiles.length).toBeLessThanOrEqual(MOST_TILES);
        // The cross product that is asked for is exactly what was requested for.
        expect(batch?.tileRequests).toHaveLength(blocks.length * (batch?.tiles.length ?? 0));
        const granted = new Set(batch?.tileRequests);
        open = open.filter((each) => !granted.has(each));
        requests += 1;
      }
      expect(requests).toBeGreaterThan(0);
    }
  });
});
