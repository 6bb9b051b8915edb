/** A server for tests: answers by route, which a test may change while the page runs. */
import { vi } from "vitest";
import { HEALTH } from "./health";
import { INFO, OVERVIEW, TRACE } from "./resnet";

interface FullReply {
  readonly status: number;
  readonly body: object;
  readonly headers?: Record<string, string>;
}

/** A body, or a body with a status and headers; null = the connection is lost. */
export type Reply = object | FullReply | null;

/** An answer, or what decides on it when it is asked for. */
type Answering = Reply | ((asked: URL) => Reply);

export interface FakeServer {
  /** Route below api/ → what it answers from now on. */
  answer(route: string, reply: Answering): void;
  /** Routes with their parameters, as they were asked. */
  readonly asked: URL[];
}

const hasStatus = (reply: object): reply is FullReply => "status" in reply && "body" in reply;

function toResponse(reply: object): Response {
  const { body, ...init } = hasStatus(reply) ? reply : { status: 200, body: reply };
  return new Response(JSON.stringify(body), init);
}

/** Serves the ResNet-50 training from the catalog given, until a test says otherwise. */
export function fakeServer(catalog: object): FakeServer {
  const replies = new Map<string, Answering>([
    ["info", INFO],
    ["catalog", catalog],
    ["rescan", catalog],
    ["retry", catalog],
    ["trace", TRACE],
    ["view/overview", OVERVIEW],
    ["view/health", HEALTH],
  ]);
  const asked: URL[] = [];
  vi.stubGlobal("fetch", (address: string) => {
    const url = new URL(address);
    asked.push(url);
    const route = url.pathname.replace(/^.*\/api\//, "");
    const found = replies.get(route);
    const reply = typeof found === "function" ? found(url) : found;
    if (reply === undefined) {
      return Promise.reject(new Error(`the test serves no ${route}`));
    }
    return reply === null
      ? Promise.reject(new TypeError("Failed to fetch"))
      : Promise.resolve(toResponse(reply));
  });
  return { answer: (route, reply) => replies.set(route, reply), asked };
}

export const refusal = (status: number, kind: string, message: string, hint = "") => ({
  status,
  body: { error: { kind, message, hint } },
});
