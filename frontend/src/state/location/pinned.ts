/**
 * Which content of a file the page shows.
 *
 * A file may be replaced while somebody reads the figures. They stay, with a hint, until the reader
 * asks for the new ones or chooses something else anyway.
 */
import { useState } from "react";

export interface Pinned {
  readonly digest: string;
  /** The file has other content by now. */
  readonly isStale: boolean;
  readonly accept: () => void;
}

/** `scope` names all that the reader chose; `current` is the digest of the file as it is now. */
export function usePinned(scope: string, current: string): Pinned {
  const [pin, setPin] = useState({ scope, digest: current });
  const isMoved = pin.scope !== scope || (pin.digest === "" && current !== "");
  const digest = isMoved ? current : pin.digest;
  if (isMoved) {
    setPin({ scope, digest: current });
  }
  return {
    digest,
    isStale: current !== "" && current !== digest,
    accept: () => setPin({ scope, digest: current }),
  };
}
