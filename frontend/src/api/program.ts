/**
 * Whether the server is of the program that this page was built with. TensorBoard may have run on
 * while the package was upgraded, or a page may have stayed open: what one of them means by a figure
 * is then not what the other takes it for, so nothing is drawn of it.
 */
import { Problem } from "./problem";
import { CONTRACT, VERSION } from "./types.gen";

const HEADER = "Kinetoscope-Program";
const RESTART = "restart TensorBoard or `kinetoscope serve`";

/** What the server says of itself; a version before this one says nothing of its contract. */
interface Program {
  readonly version: string;
  readonly contract?: string | undefined;
}

/** Why an answer of this server must not be drawn; null where it is of this page's program. */
function disagreement({ version, contract }: Program): Problem | null {
  if (version === VERSION && contract === CONTRACT) {
    return null;
  }
  const order = version.localeCompare(VERSION, "en", { numeric: true });
  const isOlder = order < 0 || (order === 0 && contract === undefined);
  if (order === 0 && !isOlder) {
    return new Problem(409, {
      kind: "other_program",
      message: `The server and this page are different builds of kinetoscope ${VERSION}.`,
      hint: `Reload the page. If that does not help, ${RESTART}.`,
    });
  }
  const [word, hint] = isOlder
    ? ["older", `To finish the upgrade, ${RESTART}.`]
    : ["newer", "Reload the page."];
  const versions = order === 0 ? VERSION : `${version}, the page ${VERSION}`;
  return new Problem(409, {
    kind: "other_program",
    message: `The server is ${word} than this page: it runs kinetoscope ${versions}.`,
    hint,
  });
}

/** Throws where the server is of another program; returns what it said else. */
export function agreed<T extends Program>(info: T): T {
  const problem = disagreement(info);
  if (problem !== null) {
    throw problem;
  }
  return info;
}

/** The same by the header of an answer. A proxy may have taken it away: then nothing is known. */
export function checkProgram(response: Response): void {
  const [version, contract] = response.headers.get(HEADER)?.split(" ") ?? [];
  if (version !== undefined) {
    agreed({ version, contract });
  }
}
