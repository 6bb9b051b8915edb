import { describe, expect, it } from "vitest";
import {
  formatArea,
  formatNames,
  formatNotes,
  formatRange,
  formatSlice,
  linkPatch,
  parseArea,
  parseNames,
  parseNotes,
  parseRange,
  parseSlice,
} from "./address";
import { formatArrangement, parseArrangement, UNARRANGED, withMoved } from "./arrangement";

describe("a range in the address", () => {
  it.each(["0-1", "-100-200", "-500--20", "9007199254740991-9007199254740992"])(
    "%s comes back",
    (text) => {
      const range = parseRange(text);
      expect(range === null ? null : formatRange(range)).toBe(text);
    },
  );
  it.each([undefined, "", "5", "5-5", "9-3", "a-b", "1e3-2e3", "1.5-2", "1-2-3"])(
    "%s is none",
    (text) => {
      expect(parseRange(text)).toBeNull();
    },
  );
});

it("keeps a slice with its source, and the first source unnamed", () => {
  expect(parseSlice("4711")).toEqual({ source: 0, slice: 4711 });
  expect(formatSlice({ source: 2, slice: 9 })).toBe("2.9");
  expect(parseSlice("2.9")).toEqual({ source: 2, slice: 9 });
  expect(parseSlice("-1")).toBeNull();
});

it("keeps an area with its rows", () => {
  const area = { start: 100, end: 900, rows: ["1abc", "2def"] };
  expect(parseArea(formatArea(area))).toEqual(area);
  expect(formatArea({ ...area, rows: [] })).toBe("100-900");
});

it("keeps names of workers whatever signs they hold", () => {
  const names = ["rank 1", "a,b", "100%", "%2C"];
  expect(parseNames(formatNames(names))).toEqual(names);
});

it("keeps notes as text", () => {
  const notes = [
    { id: "note-0", at: 500, end: 900, text: "slow ~ here! _ 100 % !t" },
    { id: "note-1", at: -20, end: null, text: "" },
  ];
  expect(parseNotes(formatNotes(notes))).toEqual(notes);
  expect(parseNotes("nonsense~1_2")).toEqual([]);
});

describe("the arrangement of rows", () => {
  it("comes back as it was", () => {
    const arrangement = {
      pinned: ["1a", "2b"],
      hidden: new Set(["3c"]),
      collapsed: new Set(["4d"]),
      modes: new Map([["5e", "heat" as const]]),
      order: ["6f", "7g"],
      focus: new Map([["8h", { lane: 4, slice: 4711 }]]),
    };
    const text = formatArrangement(arrangement);
    expect(parseArrangement(text)).toEqual(arrangement);
    expect(encodeURIComponent(text)).toBe(text);
  });

  it("ignores what it does not understand", () => {
    expect(parseArrangement("x.1~p.<b>.1a~m.1a-q~f.1a--3")).toEqual({
      ...UNARRANGED,
      pinned: ["1a"],
    });
  });

  it("remembers a move within its container only", () => {
    const moved = withMoved({ ...UNARRANGED, order: ["z"] }, ["a", "b", "c"], "c", -1);
    expect(moved.order).toEqual(["z", "a", "c", "b"]);
    expect(withMoved(moved, ["a", "c", "b"], "a", -1)).toBe(moved);
  });
});

it("says nothing of what is the default", () => {
  expect(
    linkPatch({ frames: "user", streams: "auto", mode: "select", area: null, notes: [] }),
  ).toEqual({
    "timeline.layout": undefined,
    "timeline.streams": undefined,
    "timeline.mode": undefined,
    "timeline.area": undefined,
    "timeline.notes": "",
  });
});
