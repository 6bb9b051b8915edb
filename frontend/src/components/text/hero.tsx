/** The answer of a view first: one sentence, and what stands behind it. */
import type { ReactNode } from "react";
import { useLasting } from "../../state/timing";
import { Prose } from "./prose";

interface HeroProps {
  readonly headline: string;
  readonly detail: string;
  /** It is of an earlier choice, and the new one is on its way. */
  readonly isOld?: boolean;
  /** What follows the detail. */
  readonly children?: ReactNode;
}

export function Hero({ headline, detail, isOld = false, children }: HeroProps) {
  return (
    <section className={useLasting(isOld) ? "hero stale" : "hero"} aria-live="polite">
      <h1>
        <Prose text={headline} />
      </h1>
      <p className="prose">
        <Prose text={detail} /> {children}
      </p>
    </section>
  );
}
