/**
 * A component whose code is fetched when it is first drawn. Unlike React's `lazy` it appears as soon
 * as its code is there, where that holds back for 300 ms what follows a fallback; and it is fetched
 * again after a failure.
 */
import { type ComponentType, type ReactNode, useEffect, useState } from "react";

export type Load = () => Promise<{ readonly default: ComponentType }>;

interface LateProps {
  readonly fallback: ReactNode;
}

interface Arrival {
  readonly Content: ComponentType | null;
  /** Why it did not come. */
  readonly failure: unknown;
}

export function late(load: Load): ComponentType<LateProps> {
  let known: ComponentType | null = null;
  return function Late({ fallback }: LateProps) {
    const [{ Content, failure }, arrive] = useState<Arrival>({ Content: known, failure: null });
    useEffect(() => {
      let isWanted = known === null;
      if (isWanted) {
        load().then(
          ({ default: content }) => {
            known = content;
            if (isWanted) {
              arrive({ Content: content, failure: null });
            }
          },
          (error: unknown) => isWanted && arrive({ Content: null, failure: error }),
        );
      }
      return () => {
        isWanted = false;
      };
    }, []);
    if (failure !== null) {
      throw failure;
    }
    return Content === null ? fallback : <Content />;
  };
}
