/**
 * Answers that came with the page: a report is one file without a server. `web/report/document.py`
 * writes the block, a line of base64 for each piece of gzip; the first one is the index.
 *
 * A question is its route and its parameters, without those that name the trace and without those that
 * have their usual value. Rows of a whole table answer every order and window of it. Tiles and counters
 * are stored one by one, and joined as they are asked for.
 */
import { inOrder, ownValue } from "../base/order";
import { joinFrames } from "./frames";

const BLOCK = "kinetoscope-answers";
const NAMES_OF_TRACE = new Set(["run", "worker", "span"]);
const NAMES_OF_WINDOW = new Set(["offset", "limit"]);
const NAMES_OF_TABLE = new Set(["sort_by", "ascending", "offset", "limit"]);

type Lists = readonly [string, string];
type Given = readonly (readonly [string, string])[];

/** Parts that answer several places at once, and the parameters that list these. */
const JOINED: Readonly<Record<string, Lists>> = {
  "view/timeline/tiles": ["tiles", "blocks"],
  "view/timeline/counters": ["tiles", "series"],
};

type Place = readonly [piece: number, offset: number, length: number];

interface Index {
  readonly program: string;
  readonly hint: string;
  /** By route: parameter → the value it has where it is not given. */
  readonly usual: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly answers: Readonly<Record<string, Place>>;
}

interface TableAnswer {
  readonly rows: readonly Row[];
  readonly count: number;
}

const block = typeof document === "undefined" ? null : document.getElementById(BLOCK);

/** Whether the page is a report, which asks no server. */
export const isReport = block !== null;

/** What a report holds, and what not; "" where the page is none. */
export const aboutReport = block?.dataset["about"] ?? "";

/** Which levels of the timeline a report holds. */
export interface StoredLevels {
  /** The finest level that is there for the whole recording; 0: all of them. */
  readonly everywhere: number;
  /** The finest level that is there in the ranges, which are from and to a time in ns. */
  readonly inRanges: number;
  readonly ranges: readonly (readonly [start: number, end: number])[];
}

/** "9 4 1000-2000,5000-5200": the two levels, and the ranges. */
export function levelsOf(text: string): StoredLevels {
  const [everywhere = "0", inRanges = everywhere, ranges = ""] = text.split(" ");
  return {
    everywhere: Number(everywhere),
    inRanges: Number(inRanges),
    ranges: ranges
      .split(",")
      .filter(Boolean)
      .map((range) => {
        const [start = "0", end = "0"] = range.split("-");
        return [Number(start), Number(end)];
      }),
  };
}

export const storedLevels = levelsOf(block?.dataset["levels"] ?? "");

/** The steps that a report opens with; "" the usual ones. */
export const stepsOfReport = block?.dataset["steps"] ?? "";

async function unpacked(text: string): Promise<ArrayBuffer> {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

/** The index and the pieces, as they stand in the document: megabytes that are split once. */
let split: readonly string[] | undefined;
const lines = (): readonly string[] => {
  split ??= (block?.textContent ?? "").trim().split("\n");
  return split;
};

let index: Promise<Index> | undefined;
const pieces = new Map<number, Promise<ArrayBuffer>>();

const opened = (): Promise<Index> => {
  index ??= unpacked(lines()[0] ?? "").then(
    (bytes) => JSON.parse(new TextDecoder().decode(bytes)) as Index,
  );
  return index;
};

function piece(number: number): Promise<ArrayBuffer> {
  const known = pieces.get(number) ?? unpacked(lines()[number + 1] ?? "");
  pieces.set(number, known);
  return known;
}

async function taken(place: Place | undefined): Promise<ArrayBuffer | null> {
  if (place === undefined) {
    return null;
  }
  const [number, offset, length] = place;
  return (await piece(number)).slice(offset, offset + length);
}

/** The question of an address: "view/operators/row?key=…". */
export function questionOf(
  route: string,
  parameters: Iterable<readonly [string, string]>,
  usual: Readonly<Record<string, string>>,
): string {
  const given = [...parameters]
    .filter(([name, value]) => !NAMES_OF_TRACE.has(name) && usual[name] !== value)
    .map(([name, value]) => `${name}=${value}`)
    .sort();
  return given.length === 0 ? route : `${route}?${given.join("&")}`;
}

type Row = Readonly<Record<string, unknown>>;

/** A window of stored rows, in their order or in the one that is asked for; null: not all are here. */
export function windowOf<T extends TableAnswer>(
  table: T,
  asked: ReadonlyMap<string, string>,
  order: "stored" | "asked",
): T | null {
  const { rows, count } = table;
  const offset = Number(asked.get("offset") ?? 0);
  const limit = Number(asked.get("limit") ?? 200);
  if (order === "stored") {
    const isHere = Math.min(count, offset + limit) <= rows.length;
    return isHere ? { ...table, rows: rows.slice(offset, offset + limit), offset } : null;
  }
  const key = asked.get("sort_by") ?? String((table as { sort_by?: unknown }).sort_by ?? "");
  if (rows.length < count || key === "") {
    return null;
  }
  const all = inOrder(rows, ownValue<Row>(key), asked.get("ascending") === "true");
  return { ...table, rows: all.slice(offset, offset + limit), offset, sort_by: key };
}

/** "0-2,5" → 0, 1, 2, 5; of lists without ranges each word. */
function listed(text: string): string[] {
  return text.split(",").flatMap((word) => {
    const range = /^(\d+)-(\d+)$/.exec(word);
    if (range === null) {
      return [word];
    }
    const [first, last] = [Number(range[1]), Number(range[2])];
    return Array.from({ length: last - first + 1 }, (_, i) => String(first + i));
  });
}

/** Frames of several tiles are joined of the stored ones; null where one is missing. */
async function joinedAnswer(index: Index, route: string, given: Given, lists: Lists) {
  const usual = index.usual[route] ?? {};
  const [firsts, seconds] = lists.map((name) => listed(new Map(given).get(name) ?? ""));
  const rest = given.filter(([name]) => !lists.includes(name));
  const places = (firsts ?? []).flatMap((first) =>
    (seconds ?? []).map((second) => {
      const own: Given = [
        [lists[0], first],
        [lists[1], second],
      ];
      return index.answers[questionOf(route, [...rest, ...own], usual)];
    }),
  );
  const frames = await Promise.all(places.map(taken));
  const found = frames.filter((frame) => frame !== null);
  return found.length === frames.length ? joinFrames(found) : null;
}

/** A window of a stored table, in its own order if that is asked for, else in the asked one. */
async function tableAnswer(index: Index, route: string, given: Given) {
  const usual = index.usual[route] ?? {};
  for (const order of ["stored", "asked"] as const) {
    const dropped = order === "stored" ? NAMES_OF_WINDOW : NAMES_OF_TABLE;
    const rest = given.filter(([name]) => !dropped.has(name));
    const rows = await taken(index.answers[`rows:${questionOf(route, rest, usual)}`]);
    if (rows !== null) {
      const table = JSON.parse(new TextDecoder().decode(rows)) as TableAnswer;
      const window = windowOf(table, new Map(given), order);
      if (window !== null) {
        return JSON.stringify(window);
      }
    }
  }
  return null;
}

async function answerTo(index: Index, route: string, given: Given) {
  const lists = JOINED[route];
  if (lists !== undefined) {
    return joinedAnswer(index, route, given, lists);
  }
  const question = questionOf(route, given, index.usual[route] ?? {});
  return (await taken(index.answers[question])) ?? tableAnswer(index, route, given);
}

/** As `fetch` of the server's address. */
export async function fetchStored(address: string): Promise<Response> {
  const url = new URL(address);
  const route = url.pathname.slice(url.pathname.lastIndexOf("/api/") + "/api/".length);
  const index = await opened();
  const headers = { "Kinetoscope-Program": index.program };
  const body = await answerTo(index, route, [...url.searchParams]);
  if (body === null) {
    const error = {
      kind: "not_stored",
      message: "Not in this report.",
      hint: index.hint,
    };
    return new Response(JSON.stringify({ error }), { status: 404, headers });
  }
  return new Response(body, { headers });
}
