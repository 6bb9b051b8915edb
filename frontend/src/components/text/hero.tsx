/** The answer of a view first: one sentence, and what stands behind it. */
import { Prose } from "./prose";

export function Hero({ headline, detail }: { headline: string; detail: string }) {
  return (
    <section className="hero" aria-live="polite">
      <h1>
        <Prose text={headline} />
      </h1>
      <p className="prose">
        <Prose text={detail} />
      </p>
    </section>
  );
}
