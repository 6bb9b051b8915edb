/** Everything that can go wrong between the page and its server, as one error. */
import type { ErrorInfo } from "./types.gen";

export class Problem extends Error {
  override readonly name = "Problem";
  readonly kind: string;
  readonly hint: string;
  /** HTTP status; 0 when there was no answer at all. */
  readonly status: number;

  constructor(status: number, info: ErrorInfo) {
    super(info.message);
    this.kind = info.kind;
    this.hint = info.hint;
    this.status = status;
  }

  /** The server is of another version than the page: nothing of its answers can be drawn. */
  get isOtherProgram(): boolean {
    return this.kind === "other_program";
  }

  /** A report does not hold the answer: asking again is of no use. */
  get isNotStored(): boolean {
    return this.kind === "not_stored";
  }

  /** No server at the other end, as opposed to a server that says no. */
  get isLost(): boolean {
    return this.status === 0;
  }
}

/** Any thrown value as a problem that can be shown. */
export function toProblem(thrown: unknown): Problem {
  if (thrown instanceof Problem) {
    return thrown;
  }
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new Problem(500, { kind: "page", message, hint: "" });
}
