/** The view once it rests: questions to the server wait for that. */
import { useEffect, useState } from "react";
import type { Cell } from "../../state/cell";
import type { Range } from "./link";
import { type Frame, viewOf } from "./stage_context";

export interface Rested {
  readonly view: Range;
  readonly width: number;
}

const REST_MS = 300;

/** null until the canvas has moved for the first time. */
export function useRested(frame: Cell<Frame>): Rested | null {
  const [rested, setRested] = useState<Rested | null>(null);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const settle = () => {
      const now = frame.get();
      if (now.width > 0) {
        setRested({ view: viewOf(now), width: now.width });
      }
    };
    const stop = frame.subscribe(() => {
      clearTimeout(timer);
      timer = setTimeout(settle, REST_MS);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [frame]);
  return rested;
}
